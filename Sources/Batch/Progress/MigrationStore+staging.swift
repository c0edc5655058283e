import Foundation
import GRDB
package import Storage

/// A decoded row that waits for the lookup of its customer.
package struct StagedRow: Sendable, Hashable {
    /// Row number in the source, from 1.
    package let row: Int64
    package let id: String
    /// The customer's key; `nil` if the row has nothing to look up.
    package let customer: Int64?
    /// The encoded result so far. Its format is up to the caller.
    package let result: [UInt8]

    package init(row: Int64, id: String, customer: Int64?, result: [UInt8]) {
        self.row = row
        self.id = id
        self.customer = customer
        self.result = result
    }
}

extension MigrationStore {
    /// - Returns: `false` if another row has the same id. Nothing is written then.
    package func stage(_ staged: StagedRow) throws(StorageError) -> Bool {
        try write { db in
            try db.cachedStatement(sql: "INSERT INTO staged VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING").execute(
                arguments: [staged.row, staged.id.asBytes, staged.customer, Data(staged.result)])
            return db.changesCount == 1
        }
    }

    /// Returns the next rows, in the order of rows, with the lookup results of their customers. The result is `nil`
    /// if the row has no customer, or if the lookup is pending. The data of an earlier lookup stays until a new one
    /// replaces it.
    package func stagedRows(
        after row: Int64, limit: Int
    ) throws(StorageError) -> [(staged: StagedRow, finding: CustomerLookupResult?)] {
        try read { db in
            try db.rows(
                """
                SELECT row, id, customer, result, state, reason, environment, appAppleId, transactions,
                subscriptions, signedTransactions, revision, appTransaction
                FROM staged LEFT JOIN customer ON customer.key = staged.customer
                WHERE row > ? ORDER BY row LIMIT ?
                """, [row, limit]
            ).map { row in
                (
                    StagedRow(
                        row: try row.integer(0), id: String(bytes: try row.bytes(1)),
                        customer: try row.optionalInteger(2), result: try row.bytes(3)),
                    try self.finding(in: row)
                )
            }
        }
    }

    /// Returns the lookup result in a row of the join of `staged` and `customer`.
    private func finding(in row: SQLiteRow) throws -> CustomerLookupResult? {
        func bytes(_ column: Int) throws -> [UInt8] {
            try validated(
                try row.optionalBytes(column) ?? [], "the lookup result of row \(try row.integer(0))")
        }
        // While a new lookup is pending, the previous result counts.
        if !row.isNull(8) {
            return .known(
                CustomerColumns(
                    environment: try row.optionalText(6) ?? "",
                    APIColumns(
                        appAppleId: try row.optionalInteger(7), transactions: try bytes(8),
                        subscriptions: try bytes(9), signedTransactions: try bytes(10),
                        revision: try row.optionalText(11), appTransaction: row.isNull(12) ? nil : try bytes(12))))
        }
        let reason = try row.optionalText(5)
        switch try row.optionalInteger(4).flatMap(CustomerState.init(rawValue:)) {
        case .waiting: return reason.map { CustomerLookupResult.notFound(reason: $0) }
        case .notFound: return .notFound(reason: reason ?? "")
        case .failed: return .failed(reason: reason ?? "")
        case .known, nil: return nil
        }
    }
}
