package import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// Merges the pages of a transaction history and knows the next page to request. A value type without I/O.
///
/// Each page is requested with the same query and the revision of the previous page. A transaction that changes while
/// the pages are read appears again; its last version counts, in its last position.
package struct HistoryPages: Sendable {
    /// The limits against histories that do not end.
    package struct Limits: Sendable, Hashable {
        /// The maximum number of pages, of 20 rows each.
        package var pages: Int
        /// The maximum number of rows, including repeated ones.
        package var rows: Int

        /// Creates limits. For example, a customer with ten years of weekly periods has 520 rows.
        package init(pages: Int = 250, rows: Int = 5_000) {
            self.pages = pages
            self.rows = rows
        }
    }

    private let limits: Limits
    private var revisions: Set<String> = []
    private var pages = 0
    private var received = 0
    private var rows: [Signed<TransactionPayload>?] = []
    private var indexes: [String: Int] = [:]

    package private(set) var revision: String?
    /// False if there is another page to request, with `revision`.
    package private(set) var isComplete = false

    /// Starts with an empty history.
    package init(limits: Limits = Limits()) { self.limits = limits }

    /// Starts with an earlier history, so that only the changes since then are requested.
    package init(after earlier: EarlierHistory, limits: Limits = Limits()) {
        self.init(limits: limits)
        for transaction in earlier.transactions { merge(transaction) }
        revision = earlier.revision
    }

    /// The rows, in the order of their last change.
    package var transactions: [Signed<TransactionPayload>] { rows.compactMap { $0 } }

    /// Adds a page whose rows have been verified. Throws `endlessPages` if the page announces more pages but has no
    /// revision or that of an earlier page, or if the number of pages or rows exceeds the limits.
    package mutating func add(
        _ transactions: [Signed<TransactionPayload>], revision next: String?, hasMore: Bool
    ) throws(UpstreamError) {
        pages += 1
        received += transactions.count
        for transaction in transactions { merge(transaction) }
        revision = next ?? revision
        guard hasMore else {
            isComplete = true
            return
        }
        guard let next, revisions.insert(next).inserted else {
            throw UpstreamError(.endlessPages, at: "history", "another page is announced without a new revision")
        }
        guard pages < limits.pages, received < limits.rows else {
            throw UpstreamError(.endlessPages, at: "history", "no end after \(pages) pages and \(received) rows")
        }
    }

    /// Appends a row. An earlier version of the same transaction is replaced by `nil`, so that the indexes stay
    /// valid.
    private mutating func merge(_ transaction: Signed<TransactionPayload>) {
        if let id = transaction.payload.transactionId {
            if let index = indexes[id] { rows[index] = nil }
            indexes[id] = rows.count
        }
        rows.append(transaction)
    }
}

/// A verified history from an earlier lookup, to which later changes are added.
package struct EarlierHistory: Sendable {
    package let transactions: [Signed<TransactionPayload>]
    package let revision: String
    /// The ids of all transactions, of their original transactions, and of their app transactions.
    private let identifiers: Set<String>

    /// Creates a history. The caller must have verified all transactions.
    package init(transactions: [Signed<TransactionPayload>], revision: String) {
        self.transactions = transactions
        self.revision = revision
        identifiers = Set(
            transactions.lazy.map(\.payload).flatMap {
                [$0.transactionId, $0.originalTransactionId, $0.appTransactionId].compactMap { $0 }
            })
    }

    /// Returns whether the history is that of this identifier. A revision means nothing in the history of another
    /// customer: what is older there would be missing.
    func contains(_ identifier: TransactionIdentifier) -> Bool { identifiers.contains(identifier.rawValue) }
}
