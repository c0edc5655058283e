import AppStorePayloads
import ArgumentParser
import BridgeConfiguration
import Cryptography
import Foundation
import VerifyReceipt
import ReceiptDecoding
import Responses
import AppStoreTypes

/// The `decode` command: prints the contents of receipts, and whether they are authentic.
struct DecodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decode",
        abstract: "Prints the contents of receipts, and whether they are authentic.",
        discussion: """
            Prints one JSON object per input and line, in order. If `verified` is false, everything that could be read is \
            printed nevertheless: do not rely on it.

            Example:
              receipt-bridge decode --format text receipt.b64
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case json, text
    }

    @OptionGroup var inputs: ReceiptInputs
    @OptionGroup var configuration: ConfigurationOptions
    @Option(help: ArgumentHelp("The output: json for programs, text for people.", valueName: "format"))
    var format = Format.json

    func run() throws {
        let decoder: ReceiptDecoder
        let verifier: SignedPayloadVerifier
        do {
            let trust = try TrustStore(settings: configuration.settingsWithRoots())
            decoder = ReceiptDecoder(trust: trust, profile: .stored)
            verifier = SignedPayloadVerifier(trust: trust)
        } catch {
            throw ConfigurationOptions.report(error)
        }
        var exit = ExitCode.success
        for input in inputs.all {
            guard let bytes = input.bytes else {
                Terminal.say("\(input.name): cannot be read")
                Terminal.line(InspectionReport.unreadable(input.name).json)
                exit = .usage
                continue
            }
            let inspection = decoder.inspect(bytes.span)
            let signedText = inspection.signedText.map {
                JWSInspection($0.reveal(), verifier: verifier, now: .now)
            }
            let report = InspectionReport(
                file: input.name, inspection: inspection, tables: .bundled, signedText: signedText)
            if !report.isVerified, exit == .success { exit = .someNotVerified }
            switch format {
            case .json: Terminal.line(report.json)
            case .text: Terminal.line(report.text)
            }
        }
        guard exit == .success else { throw exit }
    }
}
