package import Base
import PostgreSQLClient
package import Storage

/// Erasure of a customer's rows. PostgreSQL does not overwrite deleted rows: they remain in the pages of the tables
/// until `VACUUM` and new rows reuse the space, and in the write-ahead log, replicas and backups for as long as these
/// are kept.
extension PostgreSQLStore: PersonalDataStore {
    package func erase(_ request: ErasureRequest, at now: Timestamp) async throws(StorageError) -> Erasure {
        for _ in 0..<CustomerSearch.maximumAttempts {
            let found = try await locate(request)
            guard !found.isEmpty || request.marks != nil else { return Erasure() }
            let erasure = try await transaction { transaction in
                try await self.erase(found, request, at: now, in: transaction)
            }
            if let erasure { return erasure }
        }
        throw StorageError.unfinishedErasure(at: place)
    }

    /// Erases customers, unless new rows of them were stored since they were located; then `nil` is returned.
    private func erase(
        _ found: [CustomerSearch], _ request: ErasureRequest, at now: Timestamp,
        in transaction: PostgreSQLTransaction
    ) async throws -> Erasure? {
        let customers = found.flatMap(\.customers).sorted()
        let slots = found.flatMap { search in search.identifiers.map { LockSlot($0, app: search.app) } }
        _ = try await transaction.run([
            // The slot of erasures makes their ids ascend in the order of the commits.
            LockSlot.lock(slots + [LockSlot("erasure", app: 0)]),
            PostgreSQLQuery(
                "SELECT id FROM customer WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE", [.integers(customers)]),
        ])
        let reader = TransactionReader(transaction, of: self)
        for search in found {
            var current = search
            try await current.followIndexed(reader)
            guard current.identifiers == search.identifiers, current.customers == search.customers else { return nil }
        }
        func run(_ statements: [SQLStatement]) async throws {
            _ = try await transaction.run(statements.map(PostgreSQLQuery.init))
        }
        var erasure = Erasure()
        for search in found {
            let keys = try await reader.read(search.eventKeys) { (row) throws(StorageError) in
                try row.optionalText(0)
            }
            for rows in try await reader.read(search.counts, search.footprint)
            where !rows.isEmpty {
                erasure.add(rows, in: search.scope, for: request)
                try await run(
                    ErasureRule.uncounted.map(search.deletion) + search.deletions(of: rows, for: request))
            }
            try await run(insertions(of: keys.map(CustomerEvent.erasure), in: search.scope))
            if let marks = request.marks {
                try await run(marks.statements(of: search.identifiers, in: search.scope, at: now, dialect))
            }
        }
        if let marks = request.marks, let (id, scopes) = marks.unconditional(for: request) {
            for scope in scopes { try await run(marks.statements(of: [id], in: scope, at: now, dialect)) }
        }
        if !erasure.isEmpty { try await run([erasure.statement(at: now)]) }
        return erasure
    }
}
