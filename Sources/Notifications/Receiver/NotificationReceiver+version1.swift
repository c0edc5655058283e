import BridgeConfiguration
import Cryptography
import Storage
import VerifyReceipt
import ReceiptDecoding
import AppStoreTypes

/// Version 1 notifications. They are not signed, and old apps contain their password in the app itself. So a
/// notification with the right password is only a hint that something changed; a lookup in the App Store Server API
/// finds out what.
extension NotificationReceiver {
    /// The customer that a notification is about, as far as it can be determined.
    private struct Subject {
        let keys: CustomerIdentifiers
        let environment: AppStoreEnvironment
    }

    /// Receives a version 1 notification: checks the password, stores the identifiers, invalidates the customer's
    /// cached records and starts a lookup.
    func receive(_ body: NotificationBodyV1, into store: any Store) async throws(NotificationRejection)
        -> NotificationOutcome
    {
        guard let bundleId = body.bundleId.flatMap(BundleIdentifier.init(rawValue:)),
            let app = apps.configured(bundleId)
        else { throw NotificationRejection(.unknownApp, "the app is not configured") }
        try Self.check(body.password, of: app)
        let subject: Subject?
        do throws(StorageError) {
            subject = try await self.subject(of: body, bundleId: bundleId, in: store)
        } catch {
            throw NotificationRejection(error)
        }
        guard subject != nil || !body.transactionIds.isEmpty else {
            throw NotificationRejection(.noTransactionId, "no transaction id, and no receipt of the app")
        }
        let scope = AppScope(bundleId: bundleId, environment: subject?.environment ?? body.environment)
        let (now, about) = (now(), subject?.keys.hinted ?? [])
        let row = NotificationRow(
            hint: Self.identifier(of: body.redacted), type: body.type, naming: about + body.transactionIds,
            receivedAt: now)
        let outcome: NotificationOutcome
        do throws(StorageError) {
            outcome = try await store.notifications.save(hint: row, about: about, of: scope)
        } catch {
            throw NotificationRejection(error)
        }
        log(row, outcome, of: scope)
        guard let subject else { return outcome }
        // Every notification invalidates the cached records. Only the lookup is limited to one a minute; a client
        // that asks before the next lookup causes one itself.
        invalidate(about.map(\.rawValue), in: scope)
        lookups.lookUp(subject.keys, in: scope, at: now, through: serverAPI)
        return outcome
    }

    /// Checks the password against all secrets, so that the response time does not reveal which of them matched.
    private static func check(_ password: SharedSecret?, of app: AppConfiguration) throws(NotificationRejection) {
        let secrets = [app.sharedSecret].compactMap { $0 } + app.acceptedSecrets
        guard !secrets.isEmpty else {
            throw NotificationRejection(
                .noSharedSecret, "version 1 is checked by its password, and the app has no shared secret")
        }
        let text = password?.reveal() ?? ""
        let isRight =
            !text.isEmpty
            && secrets.reduce(false) { found, secret in
                ConstantTime.equal(secret.reveal(), text) || found
            }
        guard isRight else {
            throw NotificationRejection(.wrongPassword, "the password is not the app's shared secret")
        }
    }

    /// Returns the customer of the receipt in the notification if that is authentic and of the same app. Otherwise,
    /// returns the customer of those named transactions that are in the store; `nil` if there is none.
    private func subject(
        of body: NotificationBodyV1, bundleId: BundleIdentifier, in store: any Store
    ) async throws(StorageError) -> Subject? {
        if let text = body.receipt?.reveal(), let receipt = try? decoder.decode(text),
            receipt.bundleId == bundleId, receipt.environment != .xcode, !receipt.contents.lookupKeys.isEmpty
        {
            return Subject(keys: receipt.contents.orderedLookupKeys, environment: receipt.environment)
        }
        let stored = try await store.customers.recordedIdentifiers(body.transactionIds, of: bundleId)
        guard let first = stored.first else { return nil }
        let ids = stored.filter { $0.environment == first.environment }.map(\.identifier.rawValue)
        return Subject(
            keys: CustomerIdentifiers(originalTransactionIds: ids, transactionIds: []), environment: first.environment)
    }
}

extension CustomerIdentifiers {
    /// The identifiers that a lookup uses.
    var hinted: [TransactionIdentifier] { Array((originalTransactionIds + transactionIds).prefix(8)) }
}
