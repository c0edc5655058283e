import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport
import ReceiptBridgeBatch
import ReceiptBridgeComparison

/// Recorded responses of both endpoints of a simulated App Store for each of its receipts.
struct Recordings {
    /// A recorded pair, which tests can change.
    struct Pair: @unchecked Sendable {  // Dictionaries of JSON scalars, arrays and dictionaries, never shared.
        var id: String
        var verifyReceipt: [String: Any]
        /// `nil` if it was not recorded.
        var history: [String: Any]?
        var statuses: [String: Any]?
        /// The receipt in the verifyReceipt request; `nil` if it was not recorded.
        var receipt: String?

        var line: [UInt8] {
            get throws {
                var object: [String: Any] = ["id": id, "verifyReceipt": verifyReceipt]
                object["history"] = history
                object["statuses"] = statuses
                object["receipt"] = receipt
                return try [UInt8](JSONSerialization.data(withJSONObject: object)) + [0x0A]
            }
        }
    }

    let store: SimulatedStore
    let pairs: [Pair]
    let trust: TrustStore

    private static let made = Task { try await Recordings(customers: 72) }

    /// A simulated store that is shared by all suites that only read.
    static var world: Recordings { get async throws { try await made.value } }

    /// The pairs of ``SimulatedStore/sample``.
    var sample: [Pair] {
        let ids = Set(store.sampleReceipts.map(\.id))
        return pairs.filter { ids.contains($0.id) }
    }

    private init(customers: Int) async throws {
        let store = try SharedSimulator.store(customers: customers)
        let port = try await store.start()
        let transport = try CurlTransport(CurlConfiguration(version: "test", proxy: .direct))
        let settings = Self.settings(store, port: port)
        let trust = try TrustStore(settings: settings)
        let result: Result<[Pair], any Error>
        do { result = .success(try await Self.record(store, settings, trust, transport)) } catch {
            result = .failure(error)
        }
        await transport.shutDown()
        await store.stop()
        self.store = store
        self.trust = trust
        pairs = try result.get()
    }

    private static func record(
        _ store: SimulatedStore, _ settings: ProxyConfiguration, _ trust: TrustStore, _ transport: CurlTransport
    ) async throws -> [Pair] {
        let lookups = try ServerAPISource.batch(
            settings: settings, transport: transport, trust: trust, share: 1, now: { SharedSimulator.noon })
        let reader = ReceiptReader(trust: trust)
        var pairs: [Pair] = []
        for issued in store.receipts {
            let receipt = reader.read(Array(issued.base64.utf8))
            guard !receipt.lookupKeys.isEmpty,
                let bundleId = BundleIdentifier(rawValue: SimulatedApp.first.bundleId)
            else { continue }
            let records = try await lookups.records(
                for: receipt.lookupKeys, bundleId: bundleId, environment: receipt.environment)
            let body = Question.body(issued.base64, password: SimulatedApp.first.sharedSecret, [:])
            let answer = try store.verifyReceipt.answer(body: Array(body), at: .automatic).bytes
            pairs.append(
                Pair(
                    id: issued.id, verifyReceipt: try object(answer), history: history(records),
                    statuses: statuses(records)))
        }
        return pairs
    }

    /// A comparer with the configuration of the first app.
    ///
    /// - Parameter apple: `nil` if no requests are allowed.
    func comparer(
        asking apple: (any HTTPTransport)? = nil, overrides: [String: RuleOverride] = [:],
        _ change: (inout AppConfiguration) -> Void = { _ in }
    ) throws -> RowComparer {
        var settings = Self.settings(store, port: 9)
        change(&settings.apps[0])
        let serverAPI = try apple.map {
            try ServerAPISource.batch(
                settings: settings, transport: $0, trust: trust, share: 1, now: { SharedSimulator.noon })
        }
        return RowComparer(
            trust: trust,
            verifyReceipt: try BatchVerifyReceipt(settings: settings, trust: trust, transport: apple),
            asking: serverAPI, overrides: [SimulatedApp.first.bundleId: overrides], now: { SharedSimulator.noon },
            sleep: { _ in })
    }

    /// All output of a run.
    struct Compared {
        let ending: ComparisonRun.ComparisonEnding
        let differences: [[String: Any]]
        var sentences: [String] { [Readiness](ending.report).map(\.sentence) }

        /// The unexpected differences, by these members.
        func unexpected(_ members: String...) -> [String] {
            differences.filter { $0["class"] as? String == "unexpected" }.map { difference in
                members.map { "\(difference[$0] ?? "")" }.joined(separator: " ")
            }
        }
    }

    /// Compares the rows of a source.
    static func compare(_ source: [UInt8], by comparer: RowComparer, workers: Int = 2) async throws -> Compared {
        let folder = try TemporaryFolder()
        var options = ComparisonRunOptions(source: try folder.write("in.jsonl", source), workers: workers)
        options.destination = folder.path("out.jsonl")
        let monitor = RunMonitor(ComparisonStatus())
        let ending = try await ComparisonRun(options, comparer: comparer, monitor: monitor) { _ in }.run()
        let lines = try folder.read("out.jsonl").split(separator: 0x0A)
        return Compared(ending: ending, differences: try lines.map { try object([UInt8]($0)) })
    }

    static func settings(_ store: SimulatedStore, port: Int) -> ProxyConfiguration {
        var app = AppConfiguration(of: store)
        app.appAppleId = SimulatedApp.first.appAppleId
        var settings = ProxyConfiguration(of: store, port: port)
        settings.apps = [app]
        return settings
    }

    static func object(_ bytes: [UInt8]) throws -> [String: Any] {
        guard let object = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any] else {
            throw SharedSimulator.Missing(what: "a JSON object")
        }
        return object
    }

    private static func envelope(_ records: CustomerRecords) -> [String: Any] {
        var envelope: [String: Any] = [
            "environment": records.environment.rawValue, "bundleId": records.bundleId ?? "",
        ]
        if let appAppleId = records.appAppleId { envelope["appAppleId"] = appAppleId }
        return envelope
    }

    private static func history(_ records: CustomerRecords) -> [String: Any] {
        envelope(records).merging(["signedTransactions": records.transactions.map(\.text)]) { $1 }
    }

    private static func statuses(_ records: CustomerRecords) -> [String: Any] {
        let items = records.subscriptions.map { subscription in
            [
                "originalTransactionId": subscription.originalTransactionId, "status": subscription.status,
                "signedTransactionInfo": subscription.transaction?.text ?? "",
                "signedRenewalInfo": subscription.renewal?.text ?? "",
            ] as [String: Any]
        }
        return envelope(records).merging(["data": [["lastTransactions": items]]]) { $1 }
    }

    /// The payload of a signed row.
    static func payload(_ text: String) throws -> [String: Any] {
        var part = String(text.split(separator: ".")[1]).replacing("-", with: "+").replacing("_", with: "/")
        while part.count % 4 != 0 { part += "=" }
        return try object([UInt8](Data(base64Encoded: part) ?? Data()))
    }
}
