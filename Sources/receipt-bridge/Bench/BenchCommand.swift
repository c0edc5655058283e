import ArgumentParser
import ReceiptBridgeBase
import Foundation
import ReceiptBridgeCore
import ReceiptBridgeServer
import ReceiptBridgeCryptography
import ReceiptBridgeSimulator

/// The `bench` command. It measures decoding and rendering on this machine, similar to `openssl speed`.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Benchmarks decoding and rendering against bare signature verification.",
        discussion: """
            The limit of a row is the least work that OpenSSL needs for the item in this process: digest and verification \
            with the item's own key, nothing else. Without receipts, generated samples are measured.

            Example:
              receipt-bridge bench receipt.b64
            """)

    @Argument(help: ArgumentHelp("Files with one receipt each.", valueName: "file"), completion: .file())
    var receipts: [String] = []
    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @Option(help: ArgumentHelp("Measure only rows whose name has this prefix.", valueName: "name"))
    var only: String?
    @Flag(help: "Print a JSON array.")
    var json = false

    func run() async throws {
        let bench: ReceiptBench = try ConfigurationOptions.reporting {
            try receipts.isEmpty
                ? .builtIn() : .files(receipts, settings: configuration.settingsWithRoots(searches: false))
        }
        let rows = try await bench.run(only: only ?? "")
        guard !rows.isEmpty else {
            throw OperationFailure.exit(for: InvalidOperation("--only: no row's name begins with \(only ?? "")"))
        }
        if json { Terminal.line(Array(Self.json(rows).utf8)) } else { Terminal.line(Self.table(rows)) }
    }

    private static func json(_ rows: [BenchRow]) -> String {
        let lines = rows.map { row in
            """
            {"name":\(JSONWriter.string(row.name)),"microseconds":\(number(row.microseconds)),\
            "limitMicroseconds":\(number(row.limitMicroseconds)),"ratio":\(number(row.ratio))}
            """
        }
        return "[" + lines.joined(separator: ",\n ") + "]"
    }

    private static func table(_ rows: [BenchRow]) -> String {
        let width = rows.map(\.name.count).max() ?? 0
        let lines = rows.map { row in
            row.name.padding(toLength: width, withPad: " ", startingAt: 0)
                + [row.microseconds, row.limitMicroseconds, row.ratio].map { right(number($0), 12) }.joined()
        }
        let header = "name".padding(toLength: width, withPad: " ", startingAt: 0)
        return ([header + ["µs", "limit µs", "ratio"].map { right($0, 12) }.joined()] + lines).joined(separator: "\n")
    }

    /// Pads on the left, with at least one space.
    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }

    /// Formats with two decimals, for example `12.50`.
    private static func number(_ value: Double) -> String {
        let hundredths = Int64((value * 100).rounded())
        let fraction = String(hundredths % 100)
        return "\(hundredths / 100).\(fraction.count == 1 ? "0" : "")\(fraction)"
    }
}

/// Runs the hidden `bare-route` command: a server with one minimal route, which is the baseline of
/// `Tests/Scripts/bench/http_bench.py`.
struct BaselineRouteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bare-route", abstract: "Serves one minimal route as a benchmark baseline.", shouldDisplay: false)

    @Option var port: Int

    func run() async throws { try await BaselineRoute.run(port: port) }
}

/// Sample receipts of typical sizes, signed with newly generated keys.
struct BenchSamples {
    let pki: TestPKI

    /// Returns an App Receipt with consecutive purchases of a sandbox subscription. Each period is five minutes long.
    func appReceipt(purchases count: Int) throws(CryptographyError) -> [UInt8] {
        let start: Int64 = 1_700_000_000
        let purchases = (0..<count).map { index in
            var purchase = AppReceiptPurchase(
                productId: "com.example.app.monthly", transactionId: "\(2_000_000_100_000_001 + index)",
                originalTransactionId: "2000000100000001",
                purchaseDate: Timestamp(seconds: start + Int64(index) * 300),
                originalPurchaseDate: Timestamp(seconds: start), productType: 3,
                expiresDate: Timestamp(seconds: start + Int64(index + 1) * 300))
            purchase.webOrderLineItemId = 2_000_000_050_000_001 + Int64(index)
            return purchase
        }
        let content = AppReceiptContent(
            environment: .sandbox, bundleId: "com.example.app",
            creationDate: Timestamp(seconds: start + Int64(count) * 300), purchases: purchases, opaqueSeed: 1)
        return Array(Base64.encode(try AppReceiptEncoder(signer: pki.receiptSigner).encode(content)).utf8)
    }

    /// Returns an iOS 6 style receipt with one renewal, signed as that version of transactionReceipts is.
    func transactionReceipt(version: UInt8) throws(CryptographyError) -> [UInt8] {
        let entries: [(String, String)] = [
            ("original-purchase-date-pst", "2015-11-17 08:34:41 America/Los_Angeles"),
            ("purchase-date-ms", "1447821281000"),
            ("unique-identifier", "0000000000000000000000000000000000000001"),
            ("original-transaction-id", "2000000100000001"), ("expires-date", "1448346881000"),
            ("transaction-id", "2000000100000002"), ("original-purchase-date-ms", "1447778081000"),
            ("web-order-line-item-id", "2000000050000001"), ("bvrs", "1"),
            ("unique-vendor-identifier", "00000000-0000-4000-8000-000000000001"),
            ("expires-date-formatted-pst", "2015-11-23 22:34:41 America/Los_Angeles"), ("item-id", "1234567891"),
            ("expires-date-formatted", "2015-11-24 06:34:41 Etc/GMT"), ("product-id", "com.example.app.yearly"),
            ("purchase-date", "2015-11-18 04:34:41 Etc/GMT"), ("bid", "com.example.app"),
            ("original-purchase-date", "2015-11-17 16:34:41 Etc/GMT"),
            ("purchase-date-pst", "2015-11-17 20:34:41 America/Los_Angeles"), ("quantity", "1"),
        ]
        let encoder = pki.transactionEncoder(version, .sandbox)
        return Array(Base64.encode(try encoder.encode(purchaseInfo: entries.map { .init($0.0, $0.1) })).utf8)
    }
}
