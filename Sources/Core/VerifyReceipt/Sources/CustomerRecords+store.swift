import ReceiptBridgeAppStore
package import ReceiptBridgeReceipts
package import ReceiptBridgeBase
import Foundation
package import ReceiptBridgeStorage

extension CustomerRecords {
    /// The identifiers under which changes of this customer are recorded: original transaction ids, those from which
    /// a subscription was migrated, and the app transaction id.
    package var watchedIdentifiers: [String] {
        var identifiers: Set<String> = []
        // In place, because a copy of a payload counts a reference to each of its texts.
        transactions.withUnsafeBufferPointer { transactions in
            var (lastOriginal, lastDownload): (String?, String?)
            for index in transactions.indices {
                let original = transactions[index].payload.originalTransactionId
                let download = transactions[index].payload.appTransactionId
                if let original, original != lastOriginal { identifiers.insert(original) }
                if let download, download != lastDownload { identifiers.insert(download) }
                if let id = transactions[index].payload.previousOriginalTransactionId { identifiers.insert(id) }
                (lastOriginal, lastDownload) = (original, download)
            }
        }
        return Array(identifiers)
    }

    /// Creates records from the store. Signatures are not verified again, because every text was verified before it
    /// was stored, and only this program writes to that file. Returns `nil` if a text cannot be read.
    package init?(_ stored: StoredCustomer, in scope: AppScope) {
        var transactions: [Signed<TransactionPayload>] = []
        transactions.reserveCapacity(stored.transactions.count)
        var newest: [String: Int] = [:]
        for text in stored.transactions {
            guard let signed = Signed<TransactionPayload>(storedText: text) else { return nil }
            if let original = signed.payload.originalTransactionId {
                let index = newest[original]
                if index.map({ transactions[$0].payload.isOlder(than: signed.payload) }) ?? true {
                    newest[original] = transactions.count
                }
            }
            transactions.append(signed)
        }
        var subscriptions: [SubscriptionRecord] = []
        for subscription in stored.subscriptions {
            var renewal: Signed<RenewalPayload>?
            if let text = subscription.renewal {
                guard let signed = Signed<RenewalPayload>(storedText: text) else { return nil }
                renewal = signed
            }
            subscriptions.append(
                SubscriptionRecord(
                    subscriptionGroupIdentifier: subscription.subscriptionGroupIdentifier,
                    originalTransactionId: subscription.originalTransactionId, status: subscription.status,
                    transaction: newest[subscription.originalTransactionId].map { transactions[$0] },
                    renewal: renewal))
        }
        self.init(
            environment: scope.environment, bundleId: scope.bundleId.rawValue, appAppleId: stored.appAppleId,
            transactions: transactions, subscriptions: subscriptions, revision: stored.revision)
    }
}

extension TransactionPayload {
    /// Returns whether this transaction precedes another: by purchase date, then by transaction id.
    fileprivate func isOlder(than other: TransactionPayload) -> Bool {
        let dates = (purchaseDate?.milliseconds ?? .min, other.purchaseDate?.milliseconds ?? .min)
        guard dates.0 == dates.1 else { return dates.0 < dates.1 }
        guard let id = transactionId.flatMap(TransactionIdentifier.init(rawValue:)),
            let otherId = other.transactionId.flatMap(TransactionIdentifier.init(rawValue:))
        else { return false }
        return id < otherId
    }
}

extension CustomerRow {
    /// Maximum number of a receipt's identifiers that are not in its history. A receipt with more of them is answered
    /// from other sources.
    private static let maximumAliases = 1_000

    /// Creates the row for the result of a lookup. Returns `nil` if it must not be stored:
    ///
    /// - Several histories in one result. It is unknown which purchase belongs to which history, and a receipt of
    ///     one customer must not show the purchases of another.
    /// - A record without an id or a date.
    ///
    /// - Parameter keys: identifiers of the receipt that the records were looked up for.
    package init?(_ records: CustomerRecords, keys: CustomerIdentifiers, askedAt: Timestamp) {
        guard records.revision != nil else { return nil }
        var transactions: [TransactionRow] = []
        transactions.reserveCapacity(records.transactions.count)
        var historyIds: Set<String> = []
        for signed in records.transactions {
            guard let row = TransactionRow(signed) else { return nil }
            historyIds.insert(row.transactionId)
            historyIds.insert(row.originalTransactionId)
            transactions.append(row)
        }
        let renewals = records.subscriptions.compactMap { $0.renewal.flatMap { RenewalRow($0) } }
        let dates = [records.signedAt, transactions.map(\.signedDate).max(), renewals.map(\.signedDate).max()]
        guard let signedDate = dates.lazy.compactMap({ $0 }).first else { return nil }
        let statuses = records.subscriptions.map { subscription in
            StatusRow(
                originalTransactionId: subscription.originalTransactionId, status: subscription.status,
                subscriptionGroupIdentifier: subscription.subscriptionGroupIdentifier,
                clock: [subscription.transaction?.payload.signedDate, subscription.renewal?.payload.signedDate]
                    .compactMap { $0 }.max() ?? signedDate)
        }
        // An original transaction id that is not in the history belongs to it only if the lookup asked for that id. If
        // a history is found, `CustomerLookup` asks for at most three ids.
        let aliases = keys.originalTransactionIds.prefix(3) + keys.transactionIds
        self.init(
            askedAt: askedAt, signedDate: signedDate, appAppleId: records.appAppleId, revision: records.revision,
            transactions: transactions, statuses: statuses, renewals: renewals,
            aliases: Array(
                aliases.lazy.map(\.rawValue).filter { !historyIds.contains($0) }.prefix(Self.maximumAliases)))
        contradictsItself = records.contradictsItself
    }
}

extension TransactionRow {
    /// Creates the row for a transaction. Returns `nil` if it has no id, or no date at all.
    ///
    /// - Parameter date: signing date of the notification that contains it, used if the transaction has none.
    package init?(_ signed: Signed<TransactionPayload>, date: Timestamp? = nil) {
        let payload = signed.payload
        guard let id = payload.transactionId, let signedDate = payload.signedDate ?? date else { return nil }
        self.init(
            transactionId: id, originalTransactionId: payload.originalTransactionId ?? id,
            appTransactionId: payload.appTransactionId,
            previousOriginalTransactionId: payload.previousOriginalTransactionId,
            isSubscription: payload.isAutoRenewable, signedDate: signedDate, revocation: RevocationRow(payload),
            appAccountToken: payload.storedAccountToken, expiresDate: payload.expiresDate, text: signed.text)
    }
}

extension RefundRow {
    /// Creates the row for a transaction of a refund history. Returns `nil` if it has no id or no date.
    package init?(_ signed: Signed<TransactionPayload>) {
        guard let row = TransactionRow(signed), let date = signed.payload.revocationDate else { return nil }
        self.init(transaction: row, date: date)
    }
}

extension RevocationRow {
    /// `nil` for a transaction that is not revoked, and for a consumable, whose revocation responses never show.
    init?(_ payload: TransactionPayload) {
        guard let id = payload.transactionId, let date = payload.revocationDate, !payload.isConsumable else {
            return nil
        }
        self.init(
            transactionId: id, webOrderLineItemId: payload.webOrderLineItemId, date: date,
            reason: payload.revocationReason, signedDate: payload.signedDate)
    }
}

extension RenewalRow {
    /// Creates the row for a renewal. Returns `nil` if it has no id, or no date at all.
    ///
    /// - Parameter date: signing date of the notification that contains it, used if the renewal has none.
    package init?(_ signed: Signed<RenewalPayload>, date: Timestamp? = nil) {
        guard let id = signed.payload.originalTransactionId, let signedDate = signed.payload.signedDate ?? date else {
            return nil
        }
        self.init(originalTransactionId: id, signedDate: signedDate, text: signed.text)
    }
}

extension TransactionPayload {
    /// The account token as it is stored: a UUID in lower case; `nil` for any other text.
    package var storedAccountToken: String? { appAccountToken.flatMap(AccountToken.init)?.text }
}
