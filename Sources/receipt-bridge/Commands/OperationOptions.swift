import AppStoreClients
import AppStorePayloads
import ArgumentParser
import Base
import BridgeConfiguration
import Foundation
import Logging
import Notifications
import Operations
import Reports
import Storage
import Transport
import VerifyReceipt

/// The `--environment` option of endpoints that exist in both environments.
enum EnvironmentName: String, ExpressibleByArgument, CaseIterable {
    case production, sandbox

    var environment: AppStoreEnvironment { self == .production ? .production : .sandbox }
}

/// Options of the commands that send a request about one app to the App Store Server API.
struct OperationOptions: ParsableArguments {
    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @OptionGroup var output: JSONOption
    @Option(help: ArgumentHelp("The app; optional if exactly one is configured.", valueName: "bundle-id"))
    var bundleId: String?
    @Option(help: "The environment of the App Store.")
    var environment = EnvironmentName.production

    /// Opens the resources of a command, runs it and closes them. Errors are printed and turned into an exit code.
    ///
    /// - Parameters:
    ///   - share: the part of Apple's limits to use, above 0 and at most 1.
    ///   - requestsPerSecond: Apple's limit, for commands that make many calls; `nil` for others.
    func run(share: Double = 1, requestsPerSecond: Double? = nil, _ body: (CommandContext) async throws -> Void)
        async throws
    {
        try await configuration.withResources { settings, transport, store in
            let app = try AppRegistry(settings: settings).selected(bundleId)
            let limited: any HTTPTransport =
                if let requestsPerSecond {
                    RateLimitedTransport(transport, perSecond: requestsPerSecond * share)
                } else {
                    transport
                }
            try await settings.withClients(over: limited, share: share, store: store) { clients in
                guard let client = clients.client(for: app) else {
                    throw InvalidOperation("\(app) has no serverAPI in the configuration")
                }
                let context = CommandContext(
                    settings: settings, transport: transport, store: store,
                    scope: AppScope(bundleId: app, environment: environment.environment), client: client,
                    clients: clients)
                let waiting = { @Sendable () -> ProgressText? in
                    ProgressText.Part.waiting(clients.rateLimitWait, importance: 0).map { ProgressText([$0]) }
                }
                try await ProgressLine().showing(waiting) { try await body(context) }
            }
        }
    }
}

/// One app and environment, with its Server API client and the store.
struct CommandContext {
    let settings: ProxyConfiguration
    let transport: CurlTransport
    /// `nil` if no store is configured.
    let store: (any Store)?
    let scope: AppScope
    let client: ServerAPIClient
    let clients: UpstreamClients

    /// Limits of one call. A user waits for the result, but can wait longer than an app.
    static let options = CallOptions(timeLimit: .seconds(60), maximumCalls: 20)

    /// Prints the request that a call would send.
    func preview(_ call: ServerAPICall) throws(UpstreamError) {
        Terminal.line(DryRun.line(try client.preview(call, in: scope.environment)))
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
