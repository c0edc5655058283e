import ReceiptBridgeAdministration
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Logging
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeTransport

/// The `lookup` command: prints the view of a customer that the server returns to new clients.
struct LookupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lookup",
        abstract: "Prints the App Store Server API's data about the customer of a transaction.",
        discussion: """
            Needs an app with serverAPI in the configuration. Looks up production first, then the sandbox.

            --ids works through a list, whose lines are transaction ids or JSON that contains ids, and prints one line for each \
            customer, or writes it to --to FILE. A run that was stopped resumes with the same command.

            Exit codes: 0 found; 1 not found, also for some of a list, or an unusable response; 2 usage, configuration; 3 a rate limit, a key that \
            the App Store rejects, or the App Store cannot be reached.

            Example:
              receipt-bridge lookup 730000000000061 --config receipt-bridge.yaml
            """)

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @OptionGroup var output: JSONOption
    @OptionGroup var list: ListOptions
    @Option(
        help: ArgumentHelp(
            "The app; optional if one is configured, or if only one knows the id.", valueName: "bundle-id"))
    var bundleId: String?
    @Argument(help: ArgumentHelp("The id of any of the customer's transactions.", valueName: "transaction-id"))
    var id: String?

    func validate() throws {
        guard (id == nil) != (list.ids == nil) else { throw ValidationError("specify one transaction id, or --ids") }
    }

    func run() async throws {
        try await configuration.withTransport(preparing: { try $0.checkKeys(of: bundleId) }) { settings, transport in
            if let bundleId { _ = try AppRegistry(settings: settings).selected(bundleId) }
            if list.ids != nil { return try await lookUpListed(settings, transport) }
            let services = try ServiceGraph(
                settings: settings, transport: transport, tables: settings.tables,
                logger: .toStandardError(level: .error))
            do throws(OperationError) {
                let views = services.customerView
                Terminal.line(views.renderer.render(try await views.view(transactionId: id ?? "", bundleId: bundleId)))
            } catch {
                Terminal.say("\(error.reason) (\(error.code.rawValue))", hint: error.code.hint)
                throw error.isKeyRefused ? ExitCode.limit : error.code.exit
            }
        }
    }

    /// Looks up the customers of a file.
    private func lookUpListed(_ settings: ProxyConfiguration, _ transport: CurlTransport) async throws {
        let app = try settings.keyedApp(bundleId)
        try settings.checkKeys()
        let client = try ServerAPISource.batch(
            settings: settings, transport: transport, trust: TrustStore(settings: settings),
            share: list.budget.value * ServerAPISource.safetyFactor)
        guard client.isConfigured else { throw InvalidOperation.serverAPIIsMissing }
        let lookups = ListedLookups(client: client, settings: settings, app: app)
        _ = try await list.run(options: "lookup \(app ?? "")", { IdentifierList($0).entries }) { _, entry, _ in
            try await lookups.result(entry)
        }
    }
}

extension ProxyConfiguration {
    /// Returns the app with a key that is named. If none is named, returns the only one; `nil` if there are several.
    func keyedApp(_ name: String?) throws(InvalidOperation) -> String? {
        if let name { return try AppRegistry(settings: self).selected(name, needsKey: true).rawValue }
        let apps = apps.filter { $0.serverAPI != nil }.compactMap(\.bundleId?.rawValue)
        return apps.count == 1 ? apps[0] : nil
    }
}

extension OperationError.Code {
    /// Errors of the input exit with 2, temporary errors with 3, and all others with 1.
    var exit: ExitCode {
        switch self {
        case .malformedRequest, .malformedTransactionId, .bundleIdRequired, .unknownApp, .serverAPINotConfigured: .usage
        case .budgetSpent, .upstreamUnavailable: .limit
        default: .someNotVerified
        }
    }

    /// A second line with the recommended action; `nil` if there is none.
    var hint: String? {
        switch self {
        case .bundleIdRequired: "specify the app with --bundle-id"
        case .unknownApp, .serverAPINotConfigured: "specify the configuration with --config or RECEIPT_BRIDGE_CONFIG"
        case .upstreamFailed: "receipt-bridge doctor checks key, clock and app"
        default: nil
        }
    }
}
