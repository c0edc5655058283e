package import AppStore
import Ledger
package import Pipeline
package import StoreTypes
import StoredRows

/// Reads the notifications of a span of time from the App Store, verifies each, and where it is wished takes them in as if
/// they came now.
///
/// It goes over the span in pieces, so that what is done can be kept: a token for the next page is good for a while only,
/// and the order of the records is not promised.
package struct NotificationCatchUp: Sendable {
    /// What was read.
    package struct Counts: Sendable, Hashable {
        package var records = 0
        package var notVerified = 0
        /// Put into the store by this.
        package var new = 0
        /// There already.
        package var known = 0
        /// Genuine, and yet not taken.
        package var refused = 0

        package init() {}
    }

    private static let options = CallOptions(priority: .batch, timeLimit: .seconds(3_600), maximumCalls: 100)
    /// Of the token of the page before: not one, or not any more.
    private static let spentTokens: Set<ServerAPIErrorNumber> = [
        ServerAPIErrorNumber(rawValue: 4_000_014), ServerAPIErrorNumber(rawValue: 4_000_017),
    ]

    private let client: ServerAPIClient
    private let environment: AppStoreEnvironment
    private let filter: HistoryFilter
    private let intake: NotificationReceiver?

    /// - Parameter intake: nil where nothing is to be stored.
    package init(
        client: ServerAPIClient, environment: AppStoreEnvironment, filter: HistoryFilter, intake: NotificationReceiver?
    ) {
        self.client = client
        self.environment = environment
        self.filter = filter
        self.intake = intake
    }

    /// - Parameters:
    ///   - checkpoint: everything before the instant is told, and on disk in a file of so many bytes; false stops.
    ///   - counts: as they grow.
    /// - Returns: whether it came to the end.
    /// - Throws: `ServerAPIError`, `NotificationRejection` where the store takes nothing, `SinkError`, and what `checkpoint`
    ///   throws.
    package func run(
        over windows: HistoryWindows, to output: inout LineOutput, counts: (Counts) -> Void,
        checkpoint: (Timestamp, Int64?) throws -> Bool
    ) async throws -> Bool {
        var windows = windows
        var total = Counts()
        // What stands on the border of two pieces may come with both.
        var (seen, before) = (Set<String>(), Set<String>())
        while let window = windows.next() {
            let isWhole = try await read(window) { page in
                for record in try await taken(page) where !before.contains(record.name) {
                    guard seen.insert(record.name).inserted else { continue }
                    total.add(record)
                    try output.append(record.line)
                }
                counts(total)
            }
            guard isWhole else {
                guard windows.halve(window) else {
                    throw ServerAPIError(
                        .endlessPages, at: "notification history", "the pages of a minute take longer than they live")
                }
                continue
            }
            // Of a piece that was cut, some of its later part was told already.
            guard windows.isAtBorder else { continue }
            (before, seen) = (seen, [])
            guard try checkpoint(window.end, output.makeDurable()) else { return false }
        }
        return true
    }

    /// Page after page; false where the next one cannot be had any more.
    private func read(
        _ window: HistoryWindows.Window, _ body: ([NotificationRecord]) async throws -> Void
    ) async throws -> Bool {
        var token: String?
        while true {
            let page: NotificationPage
            do throws(ServerAPIError) {
                page = try await client.notifications(
                    filter.query(window), in: environment, paginationToken: token, Self.options)
            } catch {
                guard token != nil, let number = error.errorNumber, Self.spentTokens.contains(number) else {
                    throw error
                }
                return false
            }
            try await body(page.records)
            guard page.hasMore else { return true }
            guard let next = page.paginationToken, next != token else {
                throw ServerAPIError(.endlessPages, at: "notification history", "more is announced, but not where")
            }
            token = next
        }
    }

    /// A page's records, taken in together: what comes at the same time shares the disk.
    private func taken(_ page: [NotificationRecord]) async throws -> [HistoryRecord] {
        let records = page.compactMap { record in
            HistoryRecord(record) { text throws(SignedPayloadError) in
                try client.verified(notification: text, in: environment)
            }
        }
        guard let intake else { return records }
        return try await withThrowingTaskGroup(of: (Int, HistoryRecord).self) { group in
            for (place, record) in records.enumerated() {
                group.addTask { (place, try await Self.taken(record, by: intake)) }
            }
            var taken = records
            for try await (place, record) in group { taken[place] = record }
            return taken
        }
    }

    private static func taken(
        _ record: HistoryRecord, by intake: NotificationReceiver
    ) async throws(NotificationRejection) -> HistoryRecord {
        guard record.isVerified else { return record }
        var record = record
        do throws(NotificationRejection) {
            record.stored = try await intake.receive(record.body) == .repeated ? .known : .new
        } catch {
            // What will be no better the next time is told; all else ends the run.
            guard error.code.httpStatus != 503 else { throw error }
            record.failure = .init(code: error.code.rawValue, place: "store", reason: error.reason)
        }
        return record
    }
}

extension HistoryRecord {
    /// As Apple sends it. A compact JWS needs no escaping.
    fileprivate var body: [UInt8] { Array("{\"signedPayload\":\"\(text)\"}".utf8) }
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
