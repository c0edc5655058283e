import ReceiptBridgeAppStore
package import ReceiptBridgeReceipts
package import ReceiptBridgeBase
import ReceiptBridgeResponses
package import ReceiptBridgeStorage

/// The reason that a notification cannot be converted or sent now: a short code that is stored and listed, for
/// example `store.damaged` or `http.503`.
package struct ForwardingFailure: Error, Sendable, Hashable {
    package let code: String

    package init(_ code: String) { self.code = code }
}

/// Access to the data that forwarding a notification needs.
package struct ForwardingContext: Sendable {
    package let store: any Store
    let arrivals: AsyncSignal
    let counts: AppMetricsRegistry
    private let verifier: SignedPayloadVerifier
    private let apps: AppRegistry
    private let serverAPI: ServerAPISource?
    private let stored: RecordsSource
    private let now: @Sendable () -> Timestamp

    /// Maximum number of earlier notifications of one purchase that are searched for its last renewal state.
    private static let previousNotifications = 16

    private static let (readingLimit, tokenLookup) = (Duration.seconds(5), Duration.seconds(5))

    package init(_ components: ServiceComponents, store: any Store, arrivals: AsyncSignal) {
        self.store = store
        self.arrivals = arrivals
        verifier = components.verifier
        apps = components.apps
        serverAPI = components.serverAPI
        stored = components.records
        counts = components.countedApps
        now = components.now
    }

    /// Returns a configured app. If it has no shared secret of its own, the account's is filled in.
    package func app(_ bundleId: BundleIdentifier) -> AppConfiguration? { apps.configured(bundleId) }

    package func text(of delivery: StoredDelivery) throws(ForwardingFailure) -> String {
        guard let text = delivery.text else { throw ForwardingFailure("store.damaged") }
        return text
    }

    /// Verified again before sending, because the notification type may be unknown to this version.
    package func verified(_ delivery: StoredDelivery) throws(ForwardingFailure) -> VerifiedNotification {
        let text = try text(of: delivery)
        do throws(SignedPayloadError) {
            return try verifier.verifyNotification(text, now: delivery.queuedAt)
        } catch {
            throw ForwardingFailure(error.verdict == .notJudged ? error.code.rawValue : "notAuthentic")
        }
    }

    /// Returns the customer's complete records: those of the store if they are current for the app, otherwise from the
    /// App Store Server API at low priority. A partial history is never returned.
    package func records(
        of originalTransactionId: String, in scope: AppScope
    ) async throws(ForwardingFailure) -> CustomerRecords {
        let keys = CustomerIdentifiers(originalTransactionIds: [originalTransactionId], transactionIds: [])
        guard !keys.isEmpty else { throw ForwardingFailure("lookup.invalidIdentifier") }
        let question = RecordsSource.Question(
            keys: keys, scope: scope, maximumAge: .seconds(app(scope.bundleId)?.storedMaxAge ?? 0), fromStore: true,
            canAsk: serverAPI?.handles(scope.bundleId) == true)
        if let found = await stored.current(question, at: now(), within: Self.readingLimit) { return found.records }
        let records: CustomerRecords?
        do throws(UpstreamError) {
            records = try await serverAPI?.refresh(keys, in: scope)
        } catch {
            throw ForwardingFailure("lookup.\(error.code.rawValue)")
        }
        guard let records else { throw ForwardingFailure("lookup.notConfigured") }
        return records
    }

    /// Returns the account token in a customer's history: in the stored one however old it is, because a token stays,
    /// otherwise in that of the App Store Server API. `nil` if no transaction has a token, or if no history is
    /// available now: a notification is not delayed for it.
    package func appAccountToken(of originalTransactionId: String, in scope: AppScope) async -> String? {
        let keys = CustomerIdentifiers(originalTransactionIds: [originalTransactionId], transactionIds: [])
        guard !keys.isEmpty else { return nil }
        if let found = await stored.stored(keys, in: scope, at: now(), within: Self.readingLimit) {
            return found.records.appAccountToken
        }
        return (try? await serverAPI?.refresh(keys, in: scope, within: Self.tokenLookup))?.appAccountToken
    }

    /// The renewal state of a subscription according to the notifications before this one.
    struct RenewalHistory: Sendable, Hashable {
        /// Whether the subscription was set to renew, according to the last signed renewal info; `nil` if no earlier
        /// notification has one.
        var renewed: Bool?
        /// Whether that renewal info came with a `REFUND` or `EXPIRED` notification.
        var isFromRefundOrExpiry = false
        /// When the last `DID_CHANGE_RENEWAL_STATUS` notification was signed.
        var changedAt: Timestamp?
    }

    /// Returns the state before a notification. Only notifications that had arrived before it count, so that every
    /// attempt to deliver it gives the same result.
    func renewalHistory(before delivery: StoredDelivery) async throws(ForwardingFailure) -> RenewalHistory {
        var history = RenewalHistory()
        let (before, change): ([PreviousNotification], [PreviousNotification])
        do throws(StorageError) {
            before = try await store.notifications.previousNotifications(
                of: delivery.notification, type: nil, limit: Self.previousNotifications)
            change = try await store.notifications.previousNotifications(
                of: delivery.notification, type: "DID_CHANGE_RENEWAL_STATUS", limit: 1)
        } catch {
            throw ForwardingFailure("store.\(error.code.rawValue)")
        }
        for notification in before {
            // Only notifications of known types: everything inside those was verified when they were stored.
            guard let type = notification.type, NotificationType(rawValue: type).isKnown,
                let payload = Signed<NotificationPayload>(storedText: notification.text)?.payload,
                let text = payload.data?.signedRenewalInfo,
                let status = Signed<RenewalPayload>(storedText: text)?.payload.autoRenewStatus
            else { continue }
            history.renewed = status != 0
            history.isFromRefundOrExpiry = ["REFUND", "EXPIRED"].contains(type)
            break
        }
        history.changedAt = change.first?.signedDate
        return history
    }
}
