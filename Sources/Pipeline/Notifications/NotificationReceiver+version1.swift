import Cryptography
import Ledger
import ReceiptDecoding
import StoreTypes

/// Version 1: nothing is signed, and the password in it is one that old apps carry in their code. Who knows it may hint
/// that something happened, and no more: the App Store is asked what.
extension NotificationReceiver {
    /// Whom a notification is about, as far as that can be known.
    private struct Subject {
        let keys: CustomerIdentifiers
        let environment: AppStoreEnvironment
    }

    func receive(_ body: NotificationBodyV1, into store: Store) async throws(NotificationRejection)
        -> NotificationOutcome
    {
        guard let bundleId = body.bundleId.flatMap(BundleIdentifier.init(rawValue:)),
            let app = apps.configured(bundleId)
        else { throw NotificationRejection(.unknownApp, "of an app that is not configured") }
        try Self.check(body.password, of: app)
        let subject: Subject?
        do throws(StorageError) {
            subject = try await self.subject(of: body, bundleId: bundleId, in: store)
        } catch {
            throw NotificationRejection(error)
        }
        guard subject != nil || !body.transactionIds.isEmpty else {
            throw NotificationRejection(.noTransactionId, "it names no transaction, and holds no receipt of the app")
        }
        let scope = AppScope(bundleId: bundleId, environment: subject?.environment ?? body.environment)
        let (now, about) = (now(), subject?.keys.hinted ?? [])
        let row = NotificationRow(
            hint: Self.name(of: body.redacted), type: body.type, naming: about + body.transactionIds, receivedAt: now)
        let outcome: NotificationOutcome
        do throws(StorageError) {
            outcome = try await store.save(hint: row, about: about, of: scope)
        } catch {
            throw NotificationRejection(error)
        }
        log(row, outcome, of: scope)
        guard let subject else { return outcome }
        // Each counts, however soon it comes after another; only the look-up is limited to one a minute, and a client that
        // asks before the next one is looked up then.
        invalidate(about.map(\.rawValue), in: scope)
        hints.lookUp(subject.keys, in: scope, at: now, through: serverAPI)
        return outcome
    }

    /// Compares with every secret, so that the time does not tell which one was right.
    private static func check(_ password: SharedSecret?, of app: AppConfiguration) throws(NotificationRejection) {
        let secrets = [app.sharedSecret].compactMap { $0 } + app.acceptedSecrets
        guard !secrets.isEmpty else {
            throw NotificationRejection(.noSharedSecret, "version 1 is told by a shared secret, and the app has none")
        }
        let given = password?.reveal() ?? ""
        let isRight =
            !given.isEmpty
            && secrets.reduce(false) { found, secret in
                ConstantTime.equal(secret.reveal(), given) || found
            }
        guard isRight else {
            throw NotificationRejection(.wrongPassword, "the password is not the app's shared secret")
        }
    }

    /// Whom the receipt in it is of, where that is authentic and of the same app; else those it names who are known here.
    private func subject(
        of body: NotificationBodyV1, bundleId: BundleIdentifier, in store: Store
    ) async throws(StorageError) -> Subject? {
        if let text = body.receipt?.reveal(), let receipt = try? decoder.decode(text.span),
            receipt.bundleId == bundleId, receipt.environment != .xcode, !receipt.contents.lookupKeys.isEmpty
        {
            return Subject(keys: receipt.contents.orderedLookupKeys, environment: receipt.environment)
        }
        let known = try await store.recordedIdentifiers(body.transactionIds, of: bundleId)
        guard let first = known.first else { return nil }
        let ids = known.filter { $0.environment == first.environment }.map(\.identifier.rawValue)
        return Subject(
            keys: CustomerIdentifiers(originalTransactionIds: ids, transactionIds: []), environment: first.environment)
    }
}

extension CustomerIdentifiers {
    /// Those by which a look-up goes.
    var hinted: [TransactionIdentifier] { Array((originalTransactionIds + transactionIds).prefix(8)) }
}
