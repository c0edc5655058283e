package import Base

/// Erasure and retention of personal data.
package protocol PersonalDataStore: Sendable {
    /// Erases a customer in one transaction. Afterwards no read returns the customer's data.
    ///
    /// An engine with files of its own overwrites deleted data, and copies of it elsewhere in the files remain until
    /// ``Store/compact()``. A database server only marks it as deleted: it remains in the pages of the
    /// tables until they are vacuumed and reused, and in the write-ahead log, replicas and backups.
    func erase(_ request: ErasureRequest, at now: Timestamp) async throws(StorageError) -> Erasure

    /// Counts the rows that an erasure would delete.
    func footprint(of request: ErasureRequest) async throws(StorageError) -> Erasure

    /// Returns the id of the last erasure, which changes with every erasure; `nil` if there was none.
    func lastErasure() async throws(StorageError) -> Int64?

    /// Returns the newest signing date of the records that were stored last; `nil` if none has one.
    func newestSignedDate() async throws(StorageError) -> Timestamp?

    /// Deletes expired rows. Works in small batches, between which other tasks can write.
    ///
    /// - Parameter pause: called after each batch with the time that it blocked other writes; returns `false` to stop.
    /// - Returns: the numbers of deleted rows by kind, without kinds with a count of 0.
    func expire(
        _ retention: Retention, at now: Timestamp, pause: (Duration) async -> Bool
    ) async throws(StorageError) -> [Erasure.Kind]

    /// Counts the rows that ``expire(_:at:pause:)`` would delete, by kind, without kinds with a count of 0.
    func expired(_ retention: Retention, at now: Timestamp) async throws(StorageError) -> [Erasure.Kind]
}

extension PersonalDataStore {
    /// Days after which a store that receives records has newer ones.
    private static var silence: Int64 { 100 }

    /// Returns why the time may be wrong; `nil` if it is plausible.
    ///
    /// Rows are deleted by this machine's clock, and what it deletes cannot be restored. The signing dates are Apple's.
    /// If the newest is far behind, the clock is ahead, or nothing was received for that long.
    package func doubt(about now: Timestamp) async throws(StorageError) -> String? {
        guard let newest = try await newestSignedDate(),
            now > newest.advanced(by: .days(Self.silence))
        else { return nil }
        return "it is more than \(Self.silence) days ahead of the newest stored record, signed on \(newest.iso8601)"
    }
}
