import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeReceipts
import ReceiptBridgeStorage

/// Version 1 notifications. They are not signed, and old apps contain their password in the app itself. So a
/// notification with the right password is only a hint that something changed; a lookup in the App Store Server API
/// finds out what.
extension NotificationReceiver {
    private struct Subject {
        let keys: CustomerIdentifiers
        let environment: AppStoreEnvironment
    }

    func receive(_ body: NotificationBodyV1, into store: any Store) async throws(NotificationRejection)
        -> NotificationOutcome
    {
        try checkPassword(of: body, for: body.bundleId)
        let receipt = receipt(in: body)
        guard let bundleId = body.bundleId ?? receipt?.bundleId else {
            throw NotificationRejection(.unreadableNotification, "no bundle id that can be read")
        }
        if body.bundleId == nil { try checkPassword(of: body, for: bundleId) }
        let subject: Subject?
        do throws(StorageError) {
            subject = try await self.subject(of: body, receipt, bundleId: bundleId, in: store)
        } catch {
            throw NotificationRejection(error)
        }
        guard subject != nil || !body.transactionIds.isEmpty else {
            throw NotificationRejection(.noTransactionId, "no transaction id, and no receipt of the app")
        }
        guard let environment = subject?.environment ?? body.environment else {
            throw NotificationRejection(.unreadableNotification, "the environment is neither production nor sandbox")
        }
        let scope = AppScope(bundleId: bundleId, environment: environment)
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

    /// Checks the password against the secrets of an app, or of every app if the body names none.
    private func checkPassword(
        of body: NotificationBodyV1, for bundleId: BundleIdentifier?
    ) throws(NotificationRejection) {
        guard let bundleId else {
            guard apps.contains(where: { body.password.flatMap($0.knownSecret) != nil }) else {
                throw NotificationRejection(.wrongPassword, "the password is not the shared secret of an app")
            }
            return
        }
        guard let app = apps.configured(bundleId) else {
            throw NotificationRejection(.unknownApp, "the app is not configured")
        }
        guard app.hasSecret else {
            throw NotificationRejection(
                .noSharedSecret, "version 1 is checked by its password, and the app has no shared secret")
        }
        guard body.password.flatMap(app.knownSecret) != nil else {
            throw NotificationRejection(.wrongPassword, "the password is not the app's shared secret")
        }
    }

    /// Returns the first authentic receipt in the notification that is of the app that it names, if it names one.
    private func receipt(in body: NotificationBodyV1) -> Receipt? {
        body.receipts.lazy.compactMap { text in
            let bytes = text.reveal()
            return try? decoder.decode(bytes.span)
        }.first { receipt in
            receipt.environment != .xcode && body.bundleId ?? receipt.bundleId == receipt.bundleId
        }
    }

    /// Returns the customer of the receipt in the notification, otherwise the customer of those named transactions that
    /// are in the store; `nil` if neither is found.
    private func subject(
        of body: NotificationBodyV1, _ receipt: Receipt?, bundleId: BundleIdentifier, in store: any Store
    ) async throws(StorageError) -> Subject? {
        if let receipt, !receipt.contents.lookupKeys.isEmpty {
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
