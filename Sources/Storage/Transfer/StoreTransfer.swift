/// Reads and writes the rows of a store, for copying it into another one and for comparing two.
package protocol StoreTransfer: Sendable {
    /// Where the data is, for messages.
    var place: String { get }

    /// Returns rows in the order of the key.
    ///
    /// - Parameters:
    ///   - key: the key of the last row that was read; `nil` for the first page.
    ///   - decodesJWS: whether the values of the type `jws` are returned as texts.
    func rows(
        _ query: TransferQuery, after key: TransferKey?, limit: Int, decodesJWS: Bool
    ) async throws(StorageError) -> [TransferRow]

    /// Returns the number of rows of a table.
    func count(of table: StoreTable) async throws(StorageError) -> Int64

    /// Begins a copy into this store, or resumes the one that was begun from the same source. Returns the last copied
    /// key of each table.
    ///
    /// - Parameter source: identifies the source; the text of its address.
    /// - Returns: `nil` if the store holds data that is not an unfinished copy.
    /// - Throws: `changed` if the store holds an unfinished copy of another source.
    func beginCopy(from source: String) async throws(StorageError) -> [String: TransferKey]?

    /// Inserts rows with all columns of a table, and records the key of the last one, in one transaction.
    func insert(_ rows: [TransferRow], into table: StoreTable) async throws(StorageError)

    /// What the engine needs after all rows were copied.
    var completionOfCopy: [SQLStatement] { get }

    /// Marks the copy as complete, so that servers can use the store.
    func finishCopy() async throws(StorageError)

    /// Closes the store.
    @discardableResult
    func close() async -> StorageError?
}
