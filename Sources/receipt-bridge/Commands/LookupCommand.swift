import ArgumentParser
import BridgeConfiguration
import Logging
import Responses
import Server
import Transport
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
        let transport: CurlTransport
        let pipelines: ServiceGraph
        do {
            let settings = try configuration.settingsWithRoots()
            try settings.checkKeys(of: bundleId)
            transport = try CurlTransport(settings: settings)
            pipelines = try ServiceGraph(
                settings: settings, transport: transport, tables: settings.tables,
                logger: .toStandardError(level: .error))
        } catch {
            throw ConfigurationOptions.report(error)
        }
        let failure: CustomerViewError?
        do throws(CustomerViewError) {
            Terminal.line(try await pipelines.customerView.view(transactionId: id, bundleId: bundleId))
            failure = nil
        } catch {
            failure = error
        }
        await transport.shutDown()
        guard let failure else { return }
        Terminal.say("\(failure.reason) (\(failure.code.rawValue))", hint: failure.code.hint)
        throw failure.isKeyRefused ? ExitCode.limit : failure.code.exit
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
