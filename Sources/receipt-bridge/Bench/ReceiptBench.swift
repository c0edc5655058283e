import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import Logging
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeSimulator

struct BenchRow: Sendable {
    let name: String
    /// Time per item in microseconds: the minimum of several runs.
    let microseconds: Double
    /// Time of the bare signature verification in microseconds, measured alternately with the item.
    let limitMicroseconds: Double

    var ratio: Double { limitMicroseconds > 0 ? microseconds / limitMicroseconds : 0 }
}

/// Benchmarks of receipts: from text to everything that `decode` prints, or to a complete verifyReceipt response.
struct ReceiptBench {
    private struct Sample {
        /// Suffix of the names of its rows, for example `@v2`.
        let suffix: String
        let kind: ReceiptKind
        let text: [UInt8]
    }

    private let samples: [Sample]
    private let decoder: ReceiptDecoder
    private let pipeline: VerifyReceiptService
    /// Only present with the built-in samples, because it needs the key that signed them.
    private var serverAPI: ServerAPIBench?

    /// Benchmarks built-in samples, signed with newly generated keys: App Receipts with 2 and 190 purchases, and a
    /// transactionReceipt of each version.
    static func builtIn() throws -> ReceiptBench {
        let pki = try TestPKI()
        var settings = ProxyConfiguration()
        settings.trustedRoots = pki.roots.map(\.certificate)
        settings.intermediates = pki.intermediates.map(\.certificate)
        let samples = BenchSamples(pki: pki)
        var bench = try ReceiptBench(
            samples: [
                Sample(suffix: "", kind: .appReceipt, text: samples.appReceipt(purchases: 2)),
                Sample(suffix: "@190-purchases", kind: .appReceipt, text: samples.appReceipt(purchases: 190)),
                Sample(suffix: "", kind: .transactionReceipt, text: samples.transactionReceipt(version: 3)),
                Sample(suffix: "@v2", kind: .transactionReceipt, text: samples.transactionReceipt(version: 2)),
            ], settings: settings)
        bench.serverAPI = try ServerAPIBench(pki: pki, trust: bench.decoder.trust)
        return bench
    }

    /// Benchmarks receipts in files. A mangled receipt is repaired first, so that only decoding is measured.
    ///
    /// - Throws: `ConfigurationError` if a file cannot be read or is not authentic.
    static func files(_ names: [String], settings: ProxyConfiguration) throws -> ReceiptBench {
        let decoder = ReceiptDecoder(trust: try TrustStore(settings: settings), profile: .tolerant)
        let samples = try names.map { name in
            let text: [UInt8]
            do throws(UnreadableFile) { text = try ReceiptInputs.read(name) } catch {
                throw ConfigurationError([error.reason])
            }
            let inspection = decoder.inspect(text.span)
            guard inspection.isVerified, let repaired = ReceiptDecoder.repaired(text.span) else {
                throw ConfigurationError(["\(name): not authentic, so it cannot be measured"])
            }
            let suffix = names.count > 1 ? "@\(URL(filePath: name).lastPathComponent)" : ""
            return Sample(suffix: suffix, kind: inspection.kind, text: repaired)
        }
        return try ReceiptBench(samples: samples, settings: settings)
    }

    private init(samples: [Sample], settings: ProxyConfiguration) throws {
        self.samples = samples
        decoder = ReceiptDecoder(trust: try TrustStore(settings: settings), profile: .apple)
        pipeline = try VerifyReceiptService(
            settings: settings, transport: nil, tables: .bundled, logger: .toStandardError(level: .error))
    }

    /// - Parameter prefix: Only rows whose names begin with this prefix are measured.
    func run(only prefix: String) async throws -> [BenchRow] {
        var rows: [BenchRow] = []
        for sample in samples {
            let bare = try decoder.bareVerification(of: sample.text.span)
            for (name, work) in work(on: sample) where (name + sample.suffix).hasPrefix(prefix) {
                rows.append(
                    await Stopwatch.measure(
                        name + sample.suffix, against: { BlackHole.swallow(bare.run()) }, work))
            }
        }
        if let serverAPI, let sample = samples.first {
            rows += try await serverAPI.run(only: prefix, against: decoder.bareVerification(of: sample.text.span))
        }
        return rows
    }

    /// `.cold` measures the first receipt of a signer, below a verified intermediate.
    private func work(on sample: Sample) -> [(name: String, work: @Sendable () async -> Void)] {
        let decode = sample.kind == .appReceipt ? "receipt.verify+decode" : "transactionReceipt.verify+decode"
        var all: [(name: String, work: @Sendable () async -> Void)] = []
        func add(_ name: String, _ work: @escaping @Sendable () async -> Void) { all.append((name, work)) }
        add(decode) { [decoder] in
            guard let receipt = try? decoder.decode(sample.text.span) else { return }
            BlackHole.swallow(receipt.contents)
            BlackHole.swallow(receipt.contents.lookupKeys)
        }
        add("\(decode).cold") { [decoder] in
            decoder.trust.removeCachedSigners()
            guard let receipt = try? decoder.decode(sample.text.span) else { return }
            BlackHole.swallow(receipt.contents)
        }
        if sample.kind == .appReceipt {
            let body = Array(#"{"receipt-data":""#.utf8) + sample.text + Array(#""}"#.utf8)
            add("receipt.answer") { [pipeline] in
                let reply = await pipeline.answer(body: body, route: .auto, sources: [.receipt])
                BlackHole.swallow(reply.answer.body)
            }
        }
        return all
    }
}

/// Keeps the optimizer from removing computations whose results are not used.
enum BlackHole {
    @inline(never)
    static func swallow<Value>(_ value: Value) { withExtendedLifetime(value) {} }
}

/// Measures an operation and its limit alternately, so that both run under the same conditions. The minimum of
/// several runs is the result.
enum Stopwatch {
    private static let runs = 9
    private static let duration = Duration.milliseconds(40)

    static func measure(
        _ name: String, against limit: @Sendable () -> Void, _ work: @Sendable () async -> Void
    ) async -> BenchRow {
        var best = (work: Double.infinity, limit: Double.infinity)
        for _ in 0..<runs {
            best.limit = min(best.limit, await microseconds(limit))
            best.work = min(best.work, await microseconds(work))
        }
        return BenchRow(name: name, microseconds: best.work, limitMicroseconds: best.limit)
    }

    /// Returns the time of one repetition. The first call is not measured, because it fills caches.
    private static func microseconds(_ work: @Sendable () async -> Void) async -> Double {
        await work()
        let clock = ContinuousClock()
        let start = clock.now
        var count = 0
        repeat {
            for _ in 0..<10 { await work() }
            count += 10
        } while start.duration(to: clock.now) < duration
        let elapsed = start.duration(to: clock.now)
        return (Double(elapsed.components.seconds) * 1e6 + Double(elapsed.components.attoseconds) / 1e12)
            / Double(count)
    }
}
