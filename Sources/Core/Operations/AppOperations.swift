import ReceiptBridgeAppStore
package import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// The app and environment that a request names.
package struct OperationTarget: Sendable, Hashable {
    package let bundleId: String?
    /// For example `Sandbox`, in any case; `nil` for the default.
    package let environment: String?

    package init(bundleId: String?, environment: String?) {
        self.bundleId = bundleId
        self.environment = environment
    }

    /// - Throws: `malformedRequest` for any other text than `Production` and `Sandbox`.
    func namedEnvironment() throws(OperationError) -> AppStoreEnvironment? {
        guard let environment else { return nil }
        guard let found = AppStoreEnvironment.requested(environment) else {
            throw OperationError(.malformedRequest, "environment: expected Production or Sandbox")
        }
        return found
    }
}

/// The operations of support and finance teams over HTTP: the same as those of the commands. Each takes the values of a
/// request, and returns the JSON of the response.
package struct AppOperations: Sendable {
    let components: ServiceComponents
    let store: (any Store)?
    private var priority = HourlyBudget.Priority.live

    /// The same operations, for a person who waits instead of an app. They leave the reserve of the rate limit to apps.
    package var onBatchBudget: AppOperations {
        var operations = self
        operations.priority = .batch
        return operations
    }

    package init(_ components: ServiceComponents, store: (any Store)?) {
        self.components = components
        self.store = store
    }

    package var now: Timestamp { components.now() }

    package var refundDecisions: RefundDecisions? { store.map { RefundDecisions(components, store: $0) } }

    var options: CallOptions {
        CallOptions(priority: priority, timeLimit: components.deadline.whole, maximumCalls: 20)
    }

    /// Returns the app of a request about a purchase or an order, and the environment: production if it names none.
    func scope(
        _ target: OperationTarget, of subject: AppResolver.Subject
    ) async throws(OperationError) -> AppScope {
        let environment = try target.namedEnvironment() ?? .production
        return try await converting {
            let app = try await components.resolver.app(
                named: target.bundleId, of: subject, in: environment, priority: priority,
                within: components.deadline.whole)
            return AppScope(bundleId: app, environment: environment)
        }
    }

    func client(for bundleId: BundleIdentifier) throws(OperationError) -> ServerAPIClient {
        guard let client = components.serverAPI?.client(for: bundleId) else {
            throw OperationError(
                .serverAPINotConfigured,
                "the app's configuration has no serverAPI with issuerId, keyId and privateKey")
        }
        return client
    }

    /// - Throws: `storeNotConfigured`.
    func requiredStore() throws(OperationError) -> any Store {
        guard let store else { throw OperationError(.storeNotConfigured, "no store is configured") }
        return store
    }

    func transactionId(_ text: String) throws(OperationError) -> TransactionIdentifier {
        guard let id = TransactionIdentifier(rawValue: text) else {
            throw OperationError(.malformedTransactionId, "a transaction id is 1 to 20 digits, not all of them 0")
        }
        return id
    }

    func accountToken(_ text: String?) throws(OperationError) -> AccountToken {
        guard let text else { throw OperationError(.malformedRequest, "appAccountToken is missing") }
        guard let token = AccountToken(text) else {
            throw OperationError(.malformedAccountToken, "appAccountToken is not a UUID")
        }
        return token
    }

    func converting<Value>(_ body: () async throws -> Value) async throws(OperationError) -> Value {
        do {
            return try await body()
        } catch {
            throw OperationError(error)
        }
    }
}
