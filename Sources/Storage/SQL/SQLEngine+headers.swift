/// The table of JWS headers.
extension SQLEngine {
    package var encoder: JWSEncoder {
        JWSEncoder(headers: headers) { header async throws(StorageError) in try await self.headerID(of: header) }
    }

    /// Returns the row id of a header, and inserts it if needed; `nil` if ``JWSHeaderTable/capacity`` headers are
    /// stored already. Servers that insert at the same time can exceed the capacity by their number.
    private func headerID(of header: [UInt8]) async throws(StorageError) -> UInt16? {
        // The condition of the index.
        let isHeader = dialect.either(sqlite: "text = $1", postgreSQL: "sha256(text) = sha256($1)")
        return try await write([
            SQLStatement(
                """
                INSERT INTO signedHeader (text) SELECT $1
                WHERE NOT EXISTS (SELECT 1 FROM signedHeader WHERE \(isHeader))
                AND (SELECT count(*) FROM signedHeader) < \(JWSHeaderTable.capacity)
                ON CONFLICT DO NOTHING
                """, .bytes(header)),
            SQLStatement("SELECT id FROM signedHeader WHERE \(isHeader)", .bytes(header)),
        ]) { (row) throws(StorageError) in UInt16(exactly: try row.integer(0)) }.first
    }
}
