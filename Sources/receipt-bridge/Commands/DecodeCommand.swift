import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeResponses

/// The `decode` command: prints the contents of receipts, and whether they are authentic.
struct DecodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decode",
        abstract: "Prints the contents of receipts, and whether they are authentic.",
        discussion: """
            Prints one JSON object per input and line, in order; on a terminal, text. If `verified` is false, everything \
            that could be read is printed nevertheless: do not rely on it. Without --config and --roots only Apple's roots \
            are trusted.

            Exit codes: 0 all inputs are authentic; 1 some are not; 2 usage, or a file that cannot be read.

            Example:
              receipt-bridge decode receipt.b64
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case json, text
    }

    @OptionGroup var inputs: ReceiptInputs
    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @Option(
        help: ArgumentHelp(
            "The output: json for programs, text for people (default: text on a terminal, otherwise json).",
            valueName: "format"))
    var format: Format?
    @Flag(help: "The same as --format json.")
    var json = false

    func validate() throws {
        guard !json || format != .text else { throw ValidationError("--json and --format text cannot be combined") }
    }

    func run() throws {
        try inputs.requireInput(of: Self.self)
        let format = json ? .json : format ?? (Terminal.resultsGoToTerminal ? .text : .json)
        let trust = try ConfigurationOptions.reporting {
            try TrustStore(settings: configuration.settingsWithRoots(searches: false))
        }
        let reader = ReceiptReader(trust: trust)
        var exit = ExitCode.success
        for input in inputs.all {
            let bytes: [UInt8]
            do throws(UnreadableFile) { bytes = try input.bytes.get() } catch {
                Terminal.say(error.reason, as: .bad)
                if format == .json || !Terminal.resultsGoToTerminal {
                    Terminal.line(InspectionReport.unreadable(input.name).json)
                }
                exit = .usage
                continue
            }
            let report = InspectionReport(file: input.name, receipt: reader.read(bytes), tables: .bundled)
            if !report.receipt.isVerified, exit == .success { exit = .someNotVerified }
            switch format {
            case .json: Terminal.line(report.json)
            case .text: Terminal.line(report.text)
            }
        }
        guard exit == .success else { throw exit }
    }
}
