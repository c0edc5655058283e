import ArgumentParser
import ReceiptBridgeBase
import Foundation
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeServer

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

    /// Returns the rows as JSON, one row per line.
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
