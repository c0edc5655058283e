import ArgumentParser
import BridgeConfiguration
import Logging
import Responses
import Server
import VerifyReceipt

/// The `lookup` command: prints the view of a customer that the server returns to new clients.
struct LookupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lookup",
        abstract: "Prints the App Store Server API's data about the customer of a transaction.",
        discussion: """
            Needs an app with serverAPI in the configuration. Looks up production first, then the sandbox.

            Exit codes: 0 found; 1 not found, or an unusable response; 2 usage, configuration; 3 a rate limit, a key that \
            the App Store rejects, or the App Store cannot be reached.

            Example:
              receipt-bridge lookup 730000000000061 --config receipt-bridge.yaml
            """)

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @OptionGroup var output: JSONOption
    @Option(help: ArgumentHelp("The app; optional if exactly one is configured.", valueName: "bundle-id"))
    var bundleId: String?
    @Argument(help: ArgumentHelp("The id of any of the customer's transactions.", valueName: "transaction-id"))
    var id: String

    func run() async throws {
        try await configuration.withTransport(preparing: { try $0.checkKeys(of: bundleId) }) { settings, transport in
            let services = try ServiceGraph(
                settings: settings, transport: transport, tables: settings.tables,
                logger: .toStandardError(level: .error))
            do throws(CustomerViewError) {
                Terminal.line(try await services.customerView.view(transactionId: id, bundleId: bundleId))
            } catch {
                Terminal.say("\(error.reason) (\(error.code.rawValue))", hint: error.code.hint)
                throw error.isKeyRefused ? ExitCode.limit : error.code.exit
            }
        }
    }
}

extension CustomerViewError.Code {
    /// Errors of the input exit with 2, temporary errors with 3, and all others with 1.
    fileprivate var exit: ExitCode {
        switch self {
        case .malformedRequest, .malformedTransactionId, .bundleIdRequired, .unknownApp, .serverAPINotConfigured: .usage
        case .budgetSpent, .upstreamUnavailable: .limit
        default: .someNotVerified
        }
    }

    /// A second line with the recommended action; `nil` if there is none.
    fileprivate var hint: String? {
        switch self {
        case .bundleIdRequired: "specify the app with --bundle-id"
        case .unknownApp, .serverAPINotConfigured: "specify the configuration with --config or RECEIPT_BRIDGE_CONFIG"
        case .upstreamFailed: "receipt-bridge doctor checks key, clock and app"
        default: nil
        }
    }
}
