package import ReceiptBridgeBase
package import ReceiptBridgeStorage

// Rows with what a test is about. Times are in milliseconds.

extension AppScope {
    /// An app of a test, by default in production.
    package static func of(
        _ bundleId: String = "com.example.app", _ environment: AppStoreEnvironment = .production
    ) throws -> AppScope {
        struct NoBundleIdentifier: Error {}
        guard let bundleId = BundleIdentifier(rawValue: bundleId) else { throw NoBundleIdentifier() }
        return AppScope(bundleId: bundleId, environment: environment)
    }

    /// The same app in the sandbox.
    package var sandbox: AppScope { AppScope(bundleId: bundleId, environment: .sandbox) }

    /// A forwarding target of the app.
    package func target(_ form: String = "raw", _ url: String = "http://127.0.0.1:9/") -> ForwardingTargetKey {
        ForwardingTargetKey(bundleId: bundleId, form: form, url: url)
    }
}

extension TransactionRow {
    /// A record of a subscription. Its text is `id@date` by default.
    package init(
        _ id: String, _ original: String? = nil, at date: Int64 = 1_000, download: String? = nil,
        from previous: String? = nil, isSubscription: Bool = true, revoked: Int64? = nil, token: String? = nil,
        ends: Int64? = nil, text: String? = nil
    ) {
        self.init(
            transactionId: id, originalTransactionId: original ?? id, appTransactionId: download,
            previousOriginalTransactionId: previous, isSubscription: isSubscription,
            signedDate: Timestamp(milliseconds: date),
            revocation: revoked.map { RevocationRow(id, at: $0, reason: 0, signed: date) }, appAccountToken: token,
            expiresDate: ends.map(Timestamp.init(milliseconds:)), text: text ?? "\(id)@\(date)")
    }
}

extension RevocationRow {
    package init(_ id: String, lineItem: String? = nil, at date: Int64 = 1, reason: Int64? = nil, signed: Int64? = nil)
    {
        self.init(
            transactionId: id, webOrderLineItemId: lineItem, date: Timestamp(milliseconds: date), reason: reason,
            signedDate: signed.map(Timestamp.init(milliseconds:)))
    }
}

extension StatusRow {
    package init(_ original: String, _ status: Int = 1, group: String? = nil, at date: Int64 = 1_000) {
        self.init(
            originalTransactionId: original, status: status, subscriptionGroupIdentifier: group,
            clock: Timestamp(milliseconds: date))
    }
}

extension RenewalRow {
    package init(_ original: String, at date: Int64 = 1_000, _ text: String? = nil) {
        self.init(
            originalTransactionId: original, signedDate: Timestamp(milliseconds: date),
            text: text ?? "renewal \(original)@\(date)")
    }
}

extension NotificationRow {
    /// A notification that was signed when it was received, or at another time.
    package init(
        _ uuid: String, _ type: String? = "DID_RENEW", _ subtype: String? = nil, at date: Int64,
        signed: Int64?? = .none,
        text: String = "text"
    ) {
        self.init(
            uuid: uuid, version: 2, type: type, subtype: subtype,
            signedDate: (signed ?? date).map(Timestamp.init(milliseconds:)), receivedAt: Timestamp(milliseconds: date),
            text: text)
    }
}

extension CustomerRow {
    /// A lookup that was made when its response was signed.
    package init(
        _ transactions: [TransactionRow], at date: Int64 = 1_000, asked: Int64? = nil, statuses: [StatusRow] = [],
        renewals: [RenewalRow] = [], aliases: [String] = []
    ) {
        self.init(
            askedAt: Timestamp(milliseconds: asked ?? date), signedDate: Timestamp(milliseconds: date), appAppleId: 7,
            revision: "r", transactions: transactions, statuses: statuses, renewals: renewals, aliases: aliases)
    }
}

extension CustomerIdentifiers {
    package init(_ originals: [String], _ others: [String] = []) {
        self.init(originalTransactionIds: originals, transactionIds: others)
    }
}
