/// The pages of a history, put together: what to ask next, and the rows so far. A value, without a socket.
///
/// Every page is asked for with the same query and the revision of the page before. A transaction that changed while
/// the pages were read comes again; its last form counts, at its last place.
package struct HistoryPages: Sendable {
    /// Where patience ends.
    package struct Limits: Sendable, Hashable {
        /// Of 20 rows each.
        package var pages: Int
        /// Rows, repeated ones too.
        package var rows: Int

        /// Limits; a customer of ten years of weekly periods has 520 rows.
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
    private var places: [String: Int] = [:]

    /// Of the last page.
    package private(set) var revision: String?
    /// Whether there is another page to ask for, with `revision`.
    package private(set) var isComplete = false

    /// No page yet.
    package init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// No page yet, but what an earlier history told: only what changed since is asked for.
    package init(after earlier: KnownHistory, limits: Limits = Limits()) {
        self.init(limits: limits)
        for transaction in earlier.transactions { place(transaction) }
        revision = earlier.revision
    }

    /// The rows, in the order of their last change.
    package var transactions: [Signed<TransactionPayload>] { rows.compactMap { $0 } }

    /// Takes a page in, its rows verified.
    ///
    /// - Throws: `endlessPages` when it says that there is more, but names the revision of a page that was read, or
    ///   none, or when there are too many pages or rows.
    package mutating func add(
        _ transactions: [Signed<TransactionPayload>], revision next: String?, hasMore: Bool
    ) throws(ServerAPIError) {
        pages += 1
        received += transactions.count
        for transaction in transactions { place(transaction) }
        revision = next ?? revision
        guard hasMore else {
            isComplete = true
            return
        }
        guard let next, revisions.insert(next).inserted else {
            throw ServerAPIError(.endlessPages, at: "history", "more is announced, but not where")
        }
        guard pages < limits.pages, received < limits.rows else {
            throw ServerAPIError(.endlessPages, at: "history", "no end after \(pages) pages and \(received) rows")
        }
    }

    private mutating func place(_ transaction: Signed<TransactionPayload>) {
        if let id = transaction.payload.transactionId {
            if let place = places[id] { rows[place] = nil }
            places[id] = rows.count
        }
        rows.append(transaction)
    }
}

/// A history of before, verified: what a later one is to be added to.
package struct KnownHistory: Sendable {
    package let transactions: [Signed<TransactionPayload>]
    /// Of its last page.
    package let revision: String

    package init(transactions: [Signed<TransactionPayload>], revision: String) {
        self.transactions = transactions
        self.revision = revision
    }
}
