package import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// Finds the app of a purchase or an order if a request or a command names none. The App Store gives each id to one
/// app, so a configuration with several apps answers by the id alone:
///
/// 1. the only configured app, whether it knows the id or not;
/// 2. the only app that the store knows the id for;
/// 3. the only app whose key knows the id: each app with a key is asked.
///
/// If several apps know the id, as in a test environment, the request must name one.
package struct AppResolver: Sendable {
    /// What a request is about.
    package enum Subject: Sendable {
        /// A purchase, or a download by its app transaction id.
        case transaction(TransactionIdentifier)
        case order(String)
    }

    /// What the App Store answered to an app's key.
    package enum Knowledge: Sendable {
        case known, unknown
        case failed(UpstreamError)
    }

    private let apps: AppRegistry
    private let store: (any Store)?
    private let serverAPI: ServerAPISource?

    /// The time of a read of the store.
    private static let storeLimit = Duration.seconds(1)
    /// Number of ids that the keys are asked about in ``ambiguousApps()``.
    private static let samples = 3

    init(_ components: ServiceComponents) {
        (apps, store, serverAPI) = (components.apps, components.store, components.serverAPI)
    }

    /// Creates the resolver of a command.
    package init(_ settings: ProxyConfiguration, _ source: ServerAPISource, store: (any Store)?) {
        (apps, self.store, serverAPI) = (AppRegistry(settings: settings), store, source)
    }

    /// Returns the app that a request names, or the only one.
    ///
    /// - Parameter name: `nil` if the request names none.
    /// - Throws: `unknownApp`, and `bundleIdRequired` if several are configured.
    package func app(named name: String?) throws(OperationError) -> BundleIdentifier {
        if let name {
            guard let app = BundleIdentifier(rawValue: name), apps.configured(app) != nil else { throw Self.unknownApp }
            return app
        }
        guard !apps.isEmpty else { throw Self.unknownApp }
        guard let only = apps.only else {
            throw OperationError(.bundleIdRequired, "bundleId is needed, because several apps are configured")
        }
        return only.bundleId
    }

    /// Returns the app that a request names, or the one that knows what it is about.
    ///
    /// - Parameters:
    ///   - environment: `nil` for production and the sandbox.
    ///   - limit: the time for the calls to the App Store.
    /// - Throws: the error of ``decide(_:)`` if several apps are configured, and none is named.
    package func app(
        named name: String?, of subject: Subject, in environment: AppStoreEnvironment?,
        priority: HourlyBudget.Priority = .live, within limit: Duration
    ) async throws(OperationError) -> BundleIdentifier {
        guard name == nil, !apps.isEmpty, apps.only == nil else { return try app(named: name) }
        let stored = await stored(subject, environment)
        if !stored.isEmpty { return try Self.decide(stored.map { ($0, .known) }) }
        let asked = await asked(subject, environment, priority, within: limit)
        // An order that no app has is looked up for the first one.
        if case .order = subject, let first = asked.first, asked.allSatisfy({ $1.isUnknown }) { return first.app }
        return try Self.decide(asked)
    }

    /// Returns apps that know an id in common, so that requests with it must name one; none if no two do. Looks at the
    /// newest ids in the store, and asks the keys about a few of them.
    package func ambiguousApps() async -> [BundleIdentifier] {
        guard !apps.isEmpty, apps.only == nil, let customers = store?.customers else { return [] }
        let stored = ((try? await customers.appsWithSharedIdentifiers()) ?? []).filter { apps.configured($0) != nil }
        if stored.count > 1 { return stored }
        for (id, scope) in (try? await customers.newestIdentifiers(limit: Self.samples)) ?? [] {
            let asked = await asked(
                .transaction(id), scope.environment, .batch, within: CallOptions().timeLimit
            ).filter { $0.app != scope.bundleId && $0.knowledge.isKnown }
            if let other = asked.first { return [scope.bundleId, other.app] }
        }
        return []
    }

    /// Returns the only app that knows an id.
    ///
    /// - Throws: `bundleIdRequired` if several do. If none does: `serverAPINotConfigured` if none was asked, the
    /// failure
    ///   if one could not be asked, and `transactionNotFound`.
    package static func decide(
        _ apps: [(app: BundleIdentifier, knowledge: Knowledge)]
    ) throws(OperationError) -> BundleIdentifier {
        let known = apps.filter(\.knowledge.isKnown)
        if let only = known.first, known.count == 1 { return only.app }
        guard known.isEmpty else {
            throw OperationError(.bundleIdRequired, "bundleId is needed, because several apps know this id")
        }
        for case (_, .failed(let error)) in apps { throw OperationError(error) }
        throw apps.isEmpty
            ? OperationError(
                .serverAPINotConfigured, "no app's configuration has serverAPI, and the store has no such id")
            : OperationError(.transactionNotFound, "the App Store does not know this id for any app")
    }

    static let unknownApp = OperationError(.unknownApp, "no such app is configured")

    /// The configured apps that the store knows the subject for; none if it cannot be read in time.
    private func stored(_ subject: Subject, _ environment: AppStoreEnvironment?) async -> [BundleIdentifier] {
        guard let store, case .transaction(let id) = subject else { return [] }
        let reading = Task { (try? await store.customers.apps(with: id, in: environment)) ?? [] }
        return (await TaskTimeout.value(of: reading, within: Self.storeLimit) ?? []).filter {
            apps.configured($0) != nil
        }
    }

    /// Asks the key of each app, all at the same time.
    private func asked(
        _ subject: Subject, _ environment: AppStoreEnvironment?, _ priority: HourlyBudget.Priority,
        within limit: Duration
    ) async -> [(app: BundleIdentifier, knowledge: Knowledge)] {
        guard let serverAPI else { return [] }
        let options = CallOptions(priority: priority, timeLimit: limit)
        return await withTaskGroup(of: (BundleIdentifier, Knowledge).self) { group in
            for (app, client) in serverAPI.clients {
                group.addTask {
                    do throws(UpstreamError) {
                        switch subject {
                        case .transaction(let id):
                            let denied = apps.configured(app)?.sandbox == .deny
                            let keys = CustomerIdentifiers(originalTransactionIds: [], transactionIds: [id.rawValue])
                            _ = try await serverAPI.records(
                                for: keys, bundleId: app, environment: environment ?? (denied ? .production : nil),
                                priority: priority, within: limit)
                        case .order(let id):
                            guard try await client.order(id, options).status == 0 else { return (app, .unknown) }
                        }
                        return (app, .known)
                    } catch {
                        return (app, error.isUnknownToApp ? .unknown : .failed(error))
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0.rawValue < $1.0.rawValue }
        }
    }
}

extension AppResolver.Knowledge {
    var isKnown: Bool { if case .known = self { true } else { false } }
    fileprivate var isUnknown: Bool { if case .unknown = self { true } else { false } }
}

extension UpstreamError {
    /// Whether the App Store knows nothing of the id for this app. An empty history is its answer to the key of another
    /// app.
    package var isUnknownToApp: Bool {
        isUnknownTransaction || code == .emptyHistory || errorNumber == .invalidTransactionId
    }
}
