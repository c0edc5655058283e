package import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase
import ReceiptBridgeStorage

/// Reads the notification history of a time interval from the App Store, verifies each notification, and optionally
/// stores it as if the App Store had just sent it.
///
/// The interval is read in windows, so that progress can be saved: pagination tokens expire, and Apple does not
/// promise the order of the records.
package struct NotificationCatchUp: Sendable {
    package struct Counts: Sendable, Hashable {
        package var records = 0
        package var notVerified = 0
        /// Stored by this run.
        package var new = 0
        /// Already in the store.
        package var known = 0
        /// Authentic, but rejected by the store.
        package var refused = 0

        package init() {}
    }

    /// Limits of the calls for one page: batch priority, at most an hour and 100 calls (retries included).
    private static let options = CallOptions(priority: .batch, timeLimit: .hours(1), maximumCalls: 100)
    /// Error numbers that mean that the pagination token is invalid or has expired.
    private static let tokenErrors: Set<ServerAPIErrorNumber> = [
        ServerAPIErrorNumber(rawValue: 4_000_014), ServerAPIErrorNumber(rawValue: 4_000_017),
    ]

    private let client: ServerAPIClient
    private let environment: AppStoreEnvironment
    private let query: @Sendable (HistoryWindows.Window) -> NotificationQuery
    private let receiver: NotificationReceiver?

    /// - Parameter receiver: `nil` if notifications are not stored.
    package init(
        client: ServerAPIClient, environment: AppStoreEnvironment, receiver: NotificationReceiver?,
        query: @escaping @Sendable (HistoryWindows.Window) -> NotificationQuery
    ) {
        (self.client, self.environment, self.query, self.receiver) = (client, environment, query, receiver)
    }

    /// Reads the windows one after the other. Returns whether the end was reached.
    ///
    /// - Parameters:
    ///   - counts: Called with the growing counts.
    ///   - checkpoint: Called when everything before an instant was passed to `body`. Returning `false` stops the run.
    /// - Throws: `UpstreamError`, `NotificationRejection` if the store accepts nothing, and errors of `checkpoint` and
    ///   `body`.
    package func run(
        over windows: HistoryWindows, counts: (Counts) -> Void = { _ in },
        checkpoint: (Timestamp) async throws -> Bool = { _ in true }, _ body: (HistoryRecord) throws -> Void = { _ in }
    ) async throws -> Bool {
        var windows = windows
        var total = Counts()
        // A record on the border of two windows may be returned with both.
        var (seen, previous) = (Set<String>(), Set<String>())
        while let window = windows.next() {
            let isComplete = try await read(window) { page in
                for record in try await receive(page) where !previous.contains(record.name) {
                    guard seen.insert(record.name).inserted else { continue }
                    total.add(record)
                    try body(record)
                }
                counts(total)
            }
            guard isComplete else {
                guard windows.halve(window) else {
                    throw UpstreamError(
                        .endlessPages, at: "notification history",
                        "the pagination token expired before all pages of one minute were read")
                }
                continue
            }
            // Part of a window that was halved is already written, so there is no checkpoint inside it.
            guard windows.isAtBoundary else { continue }
            (previous, seen) = (seen, [])
            guard try await checkpoint(window.end) else { return false }
        }
        return true
    }

    /// Reads all pages of a window. Returns `false` if the pagination token expired before the last page.
    private func read(
        _ window: HistoryWindows.Window, _ body: ([NotificationRecord]) async throws -> Void
    ) async throws -> Bool {
        var token: String?
        var tokens: Set<String> = []
        while true {
            let page: NotificationPage
            do throws(UpstreamError) {
                page = try await client.notifications(
                    query(window), in: environment, paginationToken: token, Self.options)
            } catch {
                guard token != nil, let number = error.errorNumber, Self.tokenErrors.contains(number) else {
                    throw error
                }
                return false
            }
            try await body(page.records)
            guard page.hasMore else { return true }
            guard let next = page.paginationToken, tokens.insert(next).inserted else {
                throw UpstreamError(
                    .endlessPages, at: "notification history", "Apple announced another page without a new token")
            }
            token = next
        }
    }

    /// Stores the records of a page concurrently, so that they share disk writes.
    private func receive(_ page: [NotificationRecord]) async throws -> [HistoryRecord] {
        let records = page.compactMap { record in
            HistoryRecord(record) { text throws(SignedPayloadError) in
                try client.verified(notification: text, in: environment)
            }
        }
        guard let receiver else { return records }
        return try await withThrowingTaskGroup(of: (Int, HistoryRecord).self) { group in
            for (index, record) in records.enumerated() {
                group.addTask { (index, try await Self.receive(record, by: receiver)) }
            }
            var received = records
            for try await (index, record) in group { received[index] = record }
            return received
        }
    }

    private static func receive(
        _ record: HistoryRecord, by receiver: NotificationReceiver
    ) async throws(NotificationRejection) -> HistoryRecord {
        guard record.isVerified else { return record }
        var record = record
        do throws(NotificationRejection) {
            record.stored = try await receiver.receive(record.body) == .repeated ? .known : .new
        } catch {
            // What is wrong with this machine ends the run. What is wrong with this notification is reported with its
            // record, so that the ones after it are stored.
            guard ![.noStore, .storeUnavailable, .signedInFuture, .notVerifiable].contains(error.code) else {
                throw error
            }
            record.failure = .init(code: error.code.rawValue, place: "store", reason: error.reason)
        }
        return record
    }
}

extension HistoryRecord {
    fileprivate var body: [UInt8] { CanonicalNotificationBody.version2(text) }
}

extension NotificationCatchUp.Counts {
    fileprivate mutating func add(_ record: HistoryRecord) {
        records += 1
        if !record.isVerified {
            notVerified += 1
        } else if record.failure != nil {
            refused += 1
        }
        switch record.stored {
        case .new: new += 1
        case .known: known += 1
        case nil: break
        }
    }
}
