package import ReceiptBridgeBase

/// The subscriptions that one step of a reconciliation asks about: those whose last known period ends in an interval.
package struct ReconciliationInterval: Sendable, Hashable {
    package let start: Timestamp
    package let end: Timestamp
    /// Only subscriptions in billing retry or in a grace period.
    package let isOnlyUnpaid: Bool

    package init(from start: Timestamp, to end: Timestamp, isOnlyUnpaid: Bool = false) {
        (self.start, self.end, self.isOnlyUnpaid) = (start, end, isOnlyUnpaid)
    }
}

/// A customer that a reconciliation asks about.
package struct ReconciliationTarget: Sendable, Hashable {
    /// Row id of the customer; `nil` if the purchase belongs to none, because only notifications were about it.
    package let customer: Int64?
    package let scope: AppScope
    /// The original transaction id of a subscription of the customer.
    package let identifier: TransactionIdentifier
}

/// A page of customers. It can be empty although others follow.
package struct ReconciliationPage: Sendable, Hashable {
    /// The last row of a page: what the rows are sorted by, and the row id. Both are negative in a descending list.
    package struct Position: Sendable, Hashable {
        package let key: Int64
        package let id: Int64

        package static let start = Position(key: 0, id: 0)
        package static let newest = Position(key: -.max, id: -.max)
    }

    package let targets: [ReconciliationTarget]
    /// Where the next page begins; `nil` after the last one.
    package let next: Position?

    /// Number of rows that one page is made of.
    package static let size = 250
}

/// A reconciliation: when it began and ended, and what it found.
package struct ReconciliationRow: Sendable, Hashable {
    /// Start time, by the clock of the server that started it. Customers that were looked up after it are skipped.
    package let startedAt: Timestamp
    /// Subscriptions that end within this many seconds before or after now are checked.
    package let window: Int64
    /// When a reconciliation ended that checked every customer: this one or, until it has ended, an earlier one.
    package var endedAt: Timestamp?
    /// When this one continues, if it stopped because calls to the App Store failed; otherwise `nil`.
    package var continuesAt: Timestamp?
    /// Notifications of Apple's history that were not stored before.
    package var notifications: Int64 = 0
    /// Customers that were looked up.
    package var customers: Int64 = 0
    /// Customers whose records differed.
    package var different: Int64 = 0
    /// Refunds that were not known.
    package var refunds: Int64 = 0
    /// Customers that could not be checked.
    package var failed: Int64 = 0
    /// Until when this one has read the notification history of each app.
    package var history: [AppScope: Timestamp] = [:]
    /// Until which ``RefundTarget/position`` this one has read the refund histories of each app.
    package var refunded: [AppScope: Int64] = [:]

    package init(startedAt: Timestamp, window: Int64) {
        self.startedAt = startedAt
        self.window = window
    }

    /// Whether this one has ended. Otherwise it runs, or stopped early.
    package var isFinished: Bool { endedAt.map { $0 >= startedAt } ?? false }

    private static let refundWord = "refunds:"

    /// ``history`` and ``refunded`` as they are stored, for example
    /// `com.example.app Production 1795564800000 com.example.app refunds:Production 4711`.
    var positions: String {
        get {
            (history.map { "\($0.bundleId) \($0.environment.rawValue) \($1.milliseconds)" }
                + refunded.map { "\($0.bundleId) \(Self.refundWord)\($0.environment.rawValue) \($1)" })
                .sorted().joined(separator: " ")
        }
        set {
            // What cannot be read is read again from Apple.
            let words = newValue.split(separator: " ").map(String.init)
            for index in stride(from: 2, to: words.count, by: 3) {
                let isRefund = words[index - 1].hasPrefix(Self.refundWord)
                let environment = words[index - 1].dropFirst(isRefund ? Self.refundWord.count : 0)
                guard let bundleId = BundleIdentifier(rawValue: words[index - 2]),
                    let environment = AppStoreEnvironment(rawValue: String(environment)),
                    let number = Int64(words[index])
                else { continue }
                let scope = AppScope(bundleId: bundleId, environment: environment)
                if isRefund { refunded[scope] = number } else { history[scope] = Timestamp(milliseconds: number) }
            }
        }
    }
}
