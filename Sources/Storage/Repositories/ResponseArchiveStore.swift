package import AppStoreTypes
import Foundation

/// Apple's last good verifyReceipt responses, one for each request.
package protocol ResponseArchiveStore: Sendable {
    /// Stores a response and replaces the previous one to the same request. If it is unchanged, only the time is
    /// updated, at most once a day. Only the latest responses of one customer are stored.
    func save(
        _ row: ArchivedResponseRow, of scope: AppScope, at now: Timestamp
    ) async throws(StorageError) -> ArchiveChange

    /// Returns the archived response to a request, or `nil` if there is none.
    ///
    /// - Parameter question: a digest of the request, as in ``ArchivedResponseRow/question``.
    func archivedResponse(to question: [UInt8]) async throws(StorageError) -> ArchivedResponseMatch?

    /// Returns the number of archived responses, and their size in bytes.
    func lastGoodUsage() async throws(StorageError) -> (count: Int, bytes: Int)

    /// Deletes responses from before that time, and the oldest others until at most this many bytes are left. One
    /// call deletes a single batch, so that other writes do not wait long.
    ///
    /// - Returns: whether there may be more to delete.
    func deleteArchivedResponses(before time: Timestamp, downTo bytes: Int) async throws(StorageError) -> Bool
}

extension ResponseArchiveStore where Self: SQLEngine {
    package func archivedResponse(to question: [UInt8]) async throws(StorageError) -> ArchivedResponseMatch? {
        try await read(
            SQLStatement(
                """
                SELECT bundleId, environment, keptAt, status, body, latestReceipt
                FROM lastGood JOIN app ON app.id = lastGood.app WHERE question = $1
                """, .bytes(question))
        ) { (row) throws(StorageError) -> ArchivedResponseMatch? in
            guard let scope = try row.scope(0, 1) else { return nil }
            return ArchivedResponseMatch(
                scope: scope, keptAt: try row.timestamp(2), status: Int(try row.integer(3)), body: try row.bytes(4),
                latestReceipt: try row.optionalBytes(5).map { Data($0) })
        }.first
    }
}
