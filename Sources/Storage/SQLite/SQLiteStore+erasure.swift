package import Base
import GRDB

extension SQLiteStore: PersonalDataStore {
    package func erase(_ request: ErasureRequest, at now: Timestamp) async throws(StorageError) -> Erasure {
        for _ in 0..<CustomerSearch.maximumAttempts {
            let found = try await locate(request)
            let erasure = try await write { db in try self.erase(found, request, at: now, in: db) }
            if let erasure { return erasure }
        }
        throw StorageError.unfinishedErasure(at: path)
    }

    /// Erases customers, unless new rows of them were stored since they were located; then `nil` is returned.
    private func erase(
        _ found: [CustomerSearch], _ request: ErasureRequest, at now: Timestamp, in db: Database
    ) throws -> Erasure? {
        for search in found {
            guard try rows(of: search.newRows, in: db).isEmpty else { return nil }
        }
        var erasure = Erasure()
        for search in found {
            let keys = try rows(of: search.eventKeys, in: db).compactMap { try $0.optionalText(0) }
            for row in try rows(of: search.counts, in: db) {
                let rows = try search.footprint(row)
                erasure.add(rows, in: search.scope, for: request)
                try Self.run(search.deletions(of: rows, for: request), in: db)
            }
            try Self.run(insertions(of: keys.map(CustomerEvent.erasure), in: search.scope), in: db)
            if let marks = request.marks {
                try Self.run(marks.statements(of: search.identifiers, in: search.scope, at: now, .sqlite), in: db)
            }
        }
        if let marks = request.marks, let (id, scopes) = marks.unconditional(for: request) {
            for scope in scopes { try Self.run(marks.statements(of: [id], in: scope, at: now, .sqlite), in: db) }
        }
        if !erasure.isEmpty { try Self.run([erasure.statement(at: now)], in: db) }
        return erasure
    }
}
