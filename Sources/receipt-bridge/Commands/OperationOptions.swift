import ReceiptBridgeAdministration
import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeComparison
import ReceiptBridgeStorage
import ReceiptBridgeTransport

/// The `--environment` option of endpoints that exist in both environments.
enum EnvironmentName: String, ExpressibleByArgument, CaseIterable {
    case production, sandbox

    var environment: AppStoreEnvironment { self == .production ? .production : .sandbox }
}

/// Options of the commands that send a request about one app to the App Store Server API.
struct OperationOptions: ParsableArguments {
    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @OptionGroup var output: JSONOption
    @Option(
        help: ArgumentHelp(
            "The app; optional if one is configured, or if only one knows the id.", valueName: "bundle-id"))
    var bundleId: String?
    @Option(help: "The environment of the App Store.")
    var environment = EnvironmentName.production

    /// Opens the resources of a command, runs it and closes them. Errors are printed and turned into an exit code.
    ///
    /// - Parameters:
    ///   - list: of a command that can make many calls; it uses its share of Apple's limits then.
    ///   - requestsPerSecond: Apple's limit of such calls.
    func run(
        _ list: ListOptions? = nil, requestsPerSecond: Double = 10, _ body: (CommandContext) async throws -> Void
    ) async throws {
        try await configuration.withResources { settings, transport, store in
            if let bundleId { _ = try AppRegistry(settings: settings).selected(bundleId) }
            var (limited, share): (any HTTPTransport, Double) = (transport, 1)
            if let list, list.ids != nil {
                share = list.budget.value
                limited = RateLimitedTransport(
                    transport, perSecond: requestsPerSecond * share * Double(TestSpeed.divisor))
            }
            try await settings.withClients(over: limited, share: share, store: store) { clients in
                let context = CommandContext(
                    settings: settings, transport: transport, store: store, clients: clients, bundleId: bundleId,
                    environment: environment.environment)
                let waiting = { @Sendable () -> ProgressText? in
                    ProgressText.Part.waiting(clients.rateLimitWait, importance: 0).map { ProgressText([$0]) }
                }
                try await ProgressLine().showing(waiting) { try await body(context) }
            }
        }
    }
}

/// What a command about one app works with.
struct CommandContext {
    let settings: ProxyConfiguration
    let transport: CurlTransport
    /// `nil` if no store is configured.
    let store: (any Store)?
    let clients: ServerAPISource
    /// The app that the command names.
    let bundleId: String?
    let environment: AppStoreEnvironment

    var resolver: AppResolver { AppResolver(settings, clients, store: store) }

    /// Limits of one call. A user waits for the result, but can wait longer than an app.
    static let options = CallOptions(timeLimit: .seconds(60), maximumCalls: 20)

    /// Returns the app that the command names, otherwise the one that knows the subject.
    ///
    /// - Parameter subject: `nil` if the command must name the app unless only one is configured.
    func app(of subject: AppResolver.Subject? = nil) async throws -> CommandApp {
        let app: BundleIdentifier
        do throws(OperationError) {
            app =
                if let subject {
                    try await resolver.app(
                        named: bundleId, of: subject, in: environment, within: Self.options.timeLimit)
                } else {
                    try resolver.app(named: bundleId)
                }
        } catch {
            guard error.code == .unknownApp, let bundleId else { throw error }
            throw InvalidOperation("--bundle-id: \(bundleId) is not configured")
        }
        guard let client = clients.client(for: app) else {
            throw InvalidOperation("\(app) has no serverAPI in the configuration")
        }
        return CommandApp(scope: AppScope(bundleId: app, environment: environment), client: client)
    }
}

extension AppResolver {
    /// Reads a list of `--ids`. The app of a line without one is the named one, otherwise the one that knows its id.
    ///
    /// - Throws: ``InvalidOperation`` for a line that cannot be used.
    func list(
        _ bytes: [UInt8], named bundleId: String?, in environment: AppStoreEnvironment
    ) async throws -> RefundList {
        let list = try await RefundList(bytes, environment: environment) { id, environment in
            do throws(OperationError) {
                return try await app(
                    named: bundleId, of: .transaction(id), in: environment, priority: .batch,
                    within: CommandContext.options.timeLimit)
            } catch {
                guard error.code.exit == .usage || error.code == .transactionNotFound else { throw error }
                throw InvalidOperation("--ids: \(id): \(error.reason)", hint: error.code.hint)
            }
        }
        if list.skipped > 0 { Terminal.say("\(list.skipped) lines have no id") }
        return list
    }
}

/// One app and environment, with its Server API client.
struct CommandApp {
    let scope: AppScope
    let client: ServerAPIClient

    /// Prints the request that a call would send.
    func preview(_ call: ServerAPICall) throws(UpstreamError) {
        Terminal.line(DryRun.line(try client.preview(call, in: scope.environment)))
    }
}

extension TransactionIdentifier {
    /// Reads an argument of a command.
    init(argument: String) throws(InvalidOperation) {
        guard let id = Self(rawValue: argument) else {
            throw InvalidOperation("a transaction id is 1 to 20 digits, not all of them 0")
        }
        self = id
    }
}

/// Prints the errors of these commands and turns them into exit codes.
enum OperationFailure {
    /// Prints the error and returns the exit code to throw.
    static func exit(for error: any Error) -> any Error {
        switch error {
        case let error as InvalidOperation:
            Terminal.say(error.reason, hint: error.hint, as: .bad)
            return ExitCode.usage
        case let error as OperationError:
            Terminal.say("\(error.reason) (\(error.code.rawValue))", hint: error.code.hint, as: .bad)
            return error.code.exit
        case let error as UpstreamError:
            Terminal.say(error.errorNumber?.meaning.map { "\($0) (\(error))" } ?? "\(error)", as: .bad)
            return error.exit
        case let error as SignedPayloadError:
            Terminal.say("\(error)", as: .bad)
            return ExitCode.someNotVerified
        case let error as StorageError:
            Terminal.say("\(error)", as: .bad)
            return error.code == .full || error.code == .failed ? ExitCode.limit : ExitCode.usage
        case let error as SinkError:
            Terminal.say("\(error)", as: .bad)
            return ExitCode.usage
        case let error as NotificationRejection:
            Terminal.say("\(error)", hint: "run the same command again to resume")
            return ExitCode.limit
        case let error as ExitCode: return error
        default: return ConfigurationOptions.report(error)
        }
    }
}

extension UpstreamError {
    /// Temporary errors, rate limits and rejected keys exit with 3, because the same command may succeed later.
    fileprivate var exit: ExitCode {
        switch code {
        case .budgetSpent: .limit
        case .invalidIdentifier, .privateKey, .noEndpoint: .usage
        case .unauthorized: .limit
        default: isTemporary || httpStatus == 429 ? .limit : .someNotVerified
        }
    }
}

/// The `tokens` command: sets the account token of a purchase.
struct TokensCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens", abstract: "Sets the app's own account token of a purchase.", subcommands: [Set.self])

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Sets the appAccountToken of a purchase, for example of one made outside the app.",
            discussion: """
                For a subscription, the id must be its original transaction id. Apple adds the token to the purchase and \
                to its later renewals.

                Exit codes: 0 set; 1 rejected by Apple; 2 usage; 3 stopped by a rate limit or a temporary failure.

                Example:
                  receipt-bridge tokens set 730000000000061 \\
                      5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f
                """)

        @OptionGroup var options: OperationOptions
        @Argument(help: ArgumentHelp("The original transaction id.", valueName: "transaction-id"))
        var id: String
        @Argument(help: ArgumentHelp("The token, a UUID.", valueName: "uuid"))
        var token: String
        @Flag(help: "Print the request without sending it.")
        var dryRun = false

        func run() async throws {
            try await options.run { context in
                let id = try TransactionIdentifier(argument: id)
                guard let token = AccountToken(token) else { throw InvalidOperation("the token is not a UUID") }
                let app = try await context.app(of: .transaction(id))
                guard !dryRun else { return try app.preview(.setAppAccountToken(id, token.text)) }
                try await app.client.setAppAccountToken(
                    id, token.text, in: app.scope.environment, CommandContext.options)
                Terminal.line(AccountTokenAnswer.set(token, of: id))
            }
        }
    }
}
