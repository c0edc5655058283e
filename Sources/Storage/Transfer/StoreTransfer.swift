/// Reads and writes the rows of a store, for copying it into another one and for comparing two.
package protocol StoreTransfer: Sendable {
    var place: String { get }

    /// Returns rows in the order of the key, after that of the last row that was read. The values of the type `jws` are
    /// returned as texts if `decodesJWS` is set.
    func rows(
        _ query: TransferQuery, after key: TransferKey?, limit: Int, decodesJWS: Bool
    ) async throws(StorageError) -> [TransferRow]

    func count(of table: StoreTable) async throws(StorageError) -> Int64

    /// Begins a copy into this store, or resumes the one that was begun from the same source, which the text of its
    /// address identifies. Returns the last copied key of each table, and `nil` if the store holds data that is not an
    /// unfinished copy. Throws `changed` if the store holds an unfinished copy of another source.
    func beginCopy(from source: String) async throws(StorageError) -> [String: TransferKey]?

    /// Inserts rows with all columns of a table, and records the key of the last one, in one transaction.
    func insert(_ rows: [TransferRow], into table: StoreTable) async throws(StorageError)

    /// What the engine needs after all rows were copied.
    var completionOfCopy: [SQLStatement] { get }

    /// Marks the copy as complete, so that servers can use the store.
    func finishCopy() async throws(StorageError)

    @discardableResult
    func close() async -> StorageError?
}
