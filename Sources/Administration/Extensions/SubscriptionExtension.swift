package import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase
import ReceiptBridgeCore
package import ReceiptBridgeStorage

/// Extends one subscription after another by the same number of days.
package struct SubscriptionExtender: Sendable {
    private let terms: ExtensionInput
    private let store: (any Store)?
    private let client: @Sendable (BundleIdentifier) -> ServerAPIClient?

    /// - Parameter store: has the original transaction ids of other transactions; `nil` if no store is configured.
    package init(
        _ terms: ExtensionInput, store: (any Store)?,
        client: @escaping @Sendable (BundleIdentifier) -> ServerAPIClient?
    ) {
        self.terms = terms
        self.store = store
        self.client = client
    }

    /// The identifier of the request is the same whenever the run is repeated, so that Apple does not extend twice.
    ///
    /// - Parameters:
    ///   - run: identifies the run.
    ///   - isDryRun: sends nothing.
    /// - Throws: ``UpstreamError`` if the extension can succeed later; `StorageError`.
    package func result(
        of entry: RefundList.Entry, run: String, isDryRun: Bool = false, _ options: CallOptions
    ) async throws -> ListResult {
        let scope = entry.scope
        let id = try await originalId(of: entry)
        let request = try RequestIdentifier("\(run)/\(id)")
        var line = ExtensionLine(entry: entry, originalTransactionId: id, request: request)
        guard let client = client(scope.bundleId) else {
            line.reason = "\(scope.bundleId) has no serverAPI in the configuration"
            return line.result
        }
        guard !isDryRun else {
            line.outcome = .possible
            return line.result
        }
        do throws(UpstreamError) {
            let extended = try await client.extend(
                id, ExtensionRequest(days: terms.days, reason: terms.reason, requestIdentifier: request.text),
                in: scope.environment, options)
            line.extended = extended
            line.outcome = extended.success ? .extended : .refused
            line.reason = extended.success ? nil : "Apple did not extend the subscription"
        } catch {
            guard error.isFinal || error.isUnknownTransaction else { throw error }
            line.outcome =
                error.isUnknownTransaction ? .notFound : error.errorNumber == .extensionLimit ? .limit : .refused
            line.reason = error.errorNumber?.meaning ?? "\(error)"
        }
        return line.result
    }

    /// The store has it for any transaction of the subscription. Otherwise the id is taken to be an original one.
    private func originalId(of entry: RefundList.Entry) async throws(StorageError) -> TransactionIdentifier {
        let text = try await store?.customers.transaction(entry.identifier, in: entry.scope)
        let original = text.flatMap { Signed<TransactionPayload>(storedText: $0)?.payload.originalTransactionId }
        return original.flatMap(TransactionIdentifier.init(rawValue:)) ?? entry.identifier
    }
}

/// A line of the output of `renewals extend --ids`:
///
///     { "transactionId", "bundleId", "environment", "originalTransactionId", "outcome", "reason", "effectiveDate",
///       "webOrderLineItemId", "requestIdentifier" }
///
/// `outcome` is `extended`, or why the App Store did not: `limit` if the subscription was extended twice in 365 days,
/// `refused` or `notFound`. In a dry run it is `possible`.
private struct ExtensionLine {
    enum ExtensionOutcome: String {
        case extended, limit, refused, notFound, possible
    }

    let entry: RefundList.Entry
    let originalTransactionId: TransactionIdentifier
    let request: RequestIdentifier
    var outcome = ExtensionOutcome.refused
    var reason: String?
    var extended: ExtensionResult?

    var result: ListResult {
        let line = JSONWriter.object {
            $0.member("transactionId", entry.identifier.rawValue)
            $0.member("bundleId", entry.scope.bundleId.rawValue)
            $0.member("environment", entry.scope.environment.rawValue)
            $0.member("originalTransactionId", originalTransactionId.rawValue)
            $0.member("outcome", outcome.rawValue)
            $0.member("reason", reason)
            $0.member("effectiveDate", extended?.effectiveDate?.milliseconds)
            $0.member("webOrderLineItemId", extended?.webOrderLineItemId)
            $0.member("requestIdentifier", request.text)
        }
        return ListResult(line: line, isSuccess: outcome == .extended || outcome == .possible)
    }
}
