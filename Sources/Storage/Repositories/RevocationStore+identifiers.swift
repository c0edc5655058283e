package import ReceiptBridgeBase

private let receiptsPerCustomer = 8

/// The customer identifiers of receipts that contain no purchase, as Apple returned them once.
extension RevocationStore {
    /// Returns the customer identifiers of a receipt, which is a digest.
    package func customerIdentifiers(of receipt: [UInt8]) async throws(StorageError) -> CustomerIdentifiers? {
        try await read(
            SQLStatement("SELECT originals, others FROM learntIdentifiers WHERE receipt = $1", .bytes(receipt))
        ) { (row) throws(StorageError) in try CustomerIdentifiers(row, 0, 1) }.first
    }

    /// Returns the latest identifiers, oldest first.
    package func customerIdentifiersByReceipt(
        limit: Int
    ) async throws(StorageError) -> [(receipt: [UInt8], keys: CustomerIdentifiers)] {
        try await readIntact(
            SQLStatement(
                "SELECT receipt, originals, others FROM learntIdentifiers ORDER BY learntAt DESC LIMIT $1",
                .integer(Int64(limit)))
        ) { (row) throws(StorageError) in
            (receipt: try row.bytes(0), keys: try CustomerIdentifiers(row, 1, 2))
        }.reversed()
    }

    /// Stores the customer identifiers of a receipt, which is a digest. Only the latest receipts of one customer are
    /// stored.
    package func saveIdentifiers(
        _ keys: CustomerIdentifiers, of receipt: [UInt8], at now: Timestamp
    ) async throws(StorageError) {
        let originals = keys.originalTransactionIds.map(\.rawValue).joined(separator: " ")
        let others = keys.transactionIds.map(\.rawValue).joined(separator: " ")
        // The identifiers belong to no app.
        let locks = locks(of: ["\(originals),\(others)"], app: 0)
        try await write(
            locks + [
                SQLStatement(
                    """
                    INSERT INTO learntIdentifiers (receipt, originals, others, learntAt) VALUES ($1, $2, $3, $4)
                    ON CONFLICT (receipt) DO UPDATE SET
                        learntAt = excluded.learntAt, originals = excluded.originals, others = excluded.others
                    """, .bytes(receipt), .text(originals), .text(others), SQLValue(now)),
                SQLStatement(
                    """
                    DELETE FROM learntIdentifiers WHERE receipt IN (
                        SELECT receipt FROM learntIdentifiers WHERE receipt <> $1 AND originals = $2 AND others = $3
                        ORDER BY learntAt DESC \(dialect.offset("$4")))
                    """, .bytes(receipt), .text(originals), .text(others), .integer(Int64(receiptsPerCustomer - 1))),
            ])
    }
}

extension CustomerIdentifiers {
    /// Reads identifiers, separated by spaces.
    fileprivate init(_ row: some SQLRow, _ originals: Int, _ others: Int) throws(StorageError) {
        self.init(
            originalTransactionIds: try row.text(originals).split(separator: " ").map(String.init),
            transactionIds: try row.text(others).split(separator: " ").map(String.init))
    }
}
