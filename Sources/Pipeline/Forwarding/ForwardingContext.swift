package import AppStore
package import Ledger
import Rendering
package import StoreTypes

/// Why a notification cannot be put into a form now: a short code that is stored and listed.
package struct ForwardingFailure: Error, Sendable, Hashable {
    package let code: String

    package init(_ code: String) { self.code = code }
}

/// What is known around a notification that is to be forwarded.
package struct ForwardingContext: Sendable {
    package let store: Store
    private let verifier: SignedPayloadVerifier
    private let apps: AppRegistry
    private let serverAPI: ServerAPISource?
    private let now: @Sendable () -> Timestamp

    /// Of one purchase, that are looked at for what was told of its renewal last.
    private static let previousNotifications = 16

    init(
        store: Store, verifier: SignedPayloadVerifier, apps: AppRegistry, serverAPI: ServerAPISource?,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.store = store
        self.verifier = verifier
        self.apps = apps
        self.serverAPI = serverAPI
        self.now = now
    }

    /// The app of that name; its shared secret is filled in.
    package func app(_ bundleId: BundleIdentifier) -> AppConfiguration? { apps.configured(bundleId) }

    /// The notification's compact JWS, as it came.
    package func text(of delivery: StoredDelivery) throws(ForwardingFailure) -> String {
        guard let text = delivery.text else { throw ForwardingFailure("store.damaged") }
        return text
    }

    /// The notification, verified once more: nothing leaves as genuine that is not, of a type that nobody knows in
    /// particular.
    package func verified(_ delivery: StoredDelivery) throws(ForwardingFailure) -> VerifiedNotification {
        let text = try text(of: delivery)
        do throws(SignedPayloadError) {
            return try verifier.verifyNotification(text, now: delivery.queuedAt)
        } catch {
            throw ForwardingFailure("notAuthentic")
        }
    }

    /// All that is known of the customer: what is stored where that is the whole history and nothing happened that is not
    /// in it, else what the App Store says now, on the budget of those who have time. What is only part of a history is
    /// never given.
    package func records(
        of originalTransactionId: String, in scope: AppScope
    ) async throws(ForwardingFailure) -> CustomerRecords {
        let keys = CustomerIdentifiers(originalTransactionIds: [originalTransactionId], transactionIds: [])
        guard !keys.isEmpty else { throw ForwardingFailure("lookup.invalidIdentifier") }
        if let records = try await stored(keys, in: scope) { return records }
        let records: CustomerRecords?
        do throws(ServerAPIError) {
            records = try await serverAPI?.refresh(keys, in: scope)
        } catch {
            throw ForwardingFailure("lookup.\(error.code.rawValue)")
        }
        guard let records else { throw ForwardingFailure("lookup.notConfigured") }
        return records
    }

    private func stored(
        _ keys: CustomerIdentifiers, in scope: AppScope
    ) async throws(ForwardingFailure) -> CustomerRecords? {
        let customer: StoredCustomer?
        do throws(StorageError) {
            customer = try await store.customer(of: keys, in: scope)
        } catch {
            throw ForwardingFailure("store.\(error.code.rawValue)")
        }
        guard let customer, !customer.needsLookup else { return nil }
        let age = now().milliseconds - customer.askedAt.milliseconds
        guard age >= 0, age <= (app(scope.bundleId)?.storedMaxAge ?? 0) * 1_000 else { return nil }
        return CustomerRecords(customer, in: scope)
    }

    /// What was told of a subscription's renewal by the notifications that came before this one.
    package struct RenewalHistory: Sendable, Hashable {
        /// What was signed last; nil where nothing was told.
        package var renewed: Bool?
        /// Whether that came with a refund or an expiry.
        package var wasToldByAnEnd = false
        /// When the customer was last said to have switched it.
        package var changedAt: Timestamp?
    }

    /// Decided by what had arrived before, so that it is the same at every attempt.
    package func story(before delivery: StoredDelivery) async throws(ForwardingFailure) -> RenewalHistory {
        var story = RenewalHistory()
        let (before, change): ([Store.PreviousNotification], [Store.PreviousNotification])
        do throws(StorageError) {
            before = try await store.previousNotifications(of: delivery.notification, limit: Self.previousNotifications)
            change = try await store.previousNotifications(
                of: delivery.notification, type: "DID_CHANGE_RENEWAL_STATUS", limit: 1)
        } catch {
            throw ForwardingFailure("store.\(error.code.rawValue)")
        }
        for notification in before {
            // Only where everything inside was verified when it was stored.
            guard let type = notification.type, NotificationType(rawValue: type).isKnown,
                let payload = Signed<NotificationPayload>(storedText: notification.text)?.payload,
                let text = payload.data?.signedRenewalInfo,
                let status = Signed<RenewalPayload>(storedText: text)?.payload.autoRenewStatus
            else { continue }
            story.renewed = status != 0
            story.wasToldByAnEnd = ["REFUND", "EXPIRED"].contains(type)
            break
        }
        story.changedAt = change.first?.signedDate
        return story
    }
}
