import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import Logging
import ReceiptBridgeReceipts
import ReceiptBridgeResponses

/// The `verify` command: evaluates one receipt as a server without a store does.
struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Prints the verifyReceipt response for a receipt, as a server without a store returns it.",
        discussion: """
            The store is not opened, so the response contains no stored records or refunds and is never an archived one. On \
            a terminal, it is shown as text.

            Exit codes: 0 if the status is 0 or 21006; 1 for any other status; 2 usage, configuration.

            Example:
              receipt-bridge verify receipt.b64 --answer receipt
            """)

    enum Environment: String, ExpressibleByArgument, CaseIterable {
        case production, sandbox, auto

        var route: UpstreamRouter.Route {
            switch self {
            case .production: .only(.production)
            case .sandbox: .only(.sandbox)
            case .auto: .auto
            }
        }
    }

    @OptionGroup var inputs: ReceiptInputs
    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @OptionGroup var mappings: MappingsOption
    @Option(
        help: ArgumentHelp(
            "The source of the response: receipt, api, apple (default: the app's `answer`, or apple then receipt).",
            valueName: "source"))
    var answer: String?
    @Option(help: "The endpoint to use.")
    var environment = Environment.auto
    @Flag(help: "Return only the newest row of each subscription and other product in latest_receipt_info.")
    var excludeOldTransactions = false
    @Flag(help: "Print the response as it is, also on a terminal.")
    var json = false

    func validate() throws {
        // This command opens no store, so that it works while another process uses the store.
        let sources = AnswerSource.allCases.filter { $0 != .stored }.map(\.rawValue)
        if let answer, !sources.contains(answer) {
            let names = sources.joined(separator: ", ")
            throw ValidationError("--answer \(answer): must be one of \(names)")
        }
    }

    func run() async throws {
        try inputs.requireInput(of: Self.self)
        let sources = answer.flatMap(AnswerSource.init(rawValue:)).map { [$0] }
        try await configuration.withTransport { settings in
            try mappings.apply(to: &settings)
            if sources == [.api], !settings.apps.contains(where: { $0.serverAPI != nil }) {
                throw ConfigurationError([
                    "--answer api needs an app with serverAPI in the configuration (--config or RECEIPT_BRIDGE_CONFIG)"
                ])
            }
        } _: { settings, transport in
            let service = try VerifyReceiptService(
                settings: settings, transport: transport, tables: settings.tables,
                logger: .toStandardError(level: .error))
            let decoder = ReceiptDecoder(trust: try TrustStore(settings: settings), profile: .stored)
            try await verify(by: service, sources, settings.outageStatus, decoder)
        }
    }

    private func verify(
        by service: VerifyReceiptService, _ sources: [AnswerSource]?, _ outageStatus: OutageStatus,
        _ decoder: ReceiptDecoder
    ) async throws {
        var exit = ExitCode.success
        for input in inputs.all {
            let bytes: [UInt8]
            do throws(UnreadableFile) { bytes = try input.bytes.get() } catch {
                Terminal.say(error.reason, as: .bad)
                exit = .usage
                continue
            }
            let reply = await service.answer(body: body(of: bytes), route: environment.route, sources: sources)
            if json || !Terminal.resultsGoToTerminal {
                Terminal.result(reply.body(outageStatus))
                if inputs.files.count > 1 || Terminal.resultsGoToTerminal { Terminal.line("") }
            } else {
                Terminal.line(ResponseText(file: input.name, reply: reply, body: reply.body(outageStatus)).text)
            }
            for reason in service.explanations(of: reply) { Terminal.say("\(input.name): \(reason)") }
            let isSuccess = reply.answer.status == .valid || reply.answer.status == .subscriptionExpired
            if let reason = rejection(reply.answer.status, bytes, decoder) { Terminal.say("\(input.name): \(reason)") }
            if !isSuccess, exit == .success { exit = .someNotVerified }
        }
        guard exit == .success else { throw exit }
    }

    /// Returns why a receipt gets 21002 or 21003, which the response does not say; `nil` for other statuses.
    private func rejection(_ status: VerifyReceiptStatus, _ bytes: [UInt8], _ decoder: ReceiptDecoder) -> String? {
        guard [.malformedReceipt, .notAuthentic].contains(status) else { return nil }
        if let failure = decoder.inspect(bytes.span).failure { return "\(failure)" }
        return status == .malformedReceipt
            ? "rejected as by the server; `receipt-bridge decode` reads it"
            : "authentic, but a rule of the configuration refuses it"
    }

    /// As an app would post it: the base64 text as it is, or the base64 of binary data.
    private func body(of bytes: [UInt8]) -> [UInt8] {
        let isText = bytes.first != UInt8(ascii: "{") && bytes.allSatisfy { (0x20...0x7E).contains($0) || isBreak($0) }
        let text =
            isText
            ? String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            : String(decoding: Base64Text.encode(bytes), as: UTF8.self)
        return JSONWriter.object(reserving: text.utf8.count + 128) {
            $0.member("receipt-data", text)
            $0.member("exclude-old-transactions", ifPresent: excludeOldTransactions ? true : nil)
        }
    }

    /// Tabs and line breaks are allowed in base64 text, because editors and mail programs insert them.
    private func isBreak(_ byte: UInt8) -> Bool { byte == 0x09 || byte == 0x0A || byte == 0x0D }
}
