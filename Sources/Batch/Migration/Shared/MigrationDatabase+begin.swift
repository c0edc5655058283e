import Base
import Foundation
import PostgreSQLClient

extension MigrationDatabase {
    /// Returns the id of the migration of a source. Inserts a missing row.
    ///
    /// - Throws: `notPossible` if the migration began with another source or with other options.
    func begin(
        _ options: SharedMigrationOptions, _ fingerprint: SourceIdentity
    ) async throws(RunError) -> Int64 {
        let persisted = options.comparedOptions
        guard let source = try? JSONEncoder().encode(fingerprint), let encoded = try? JSONEncoder().encode(persisted)
        else { throw .notPossible("the options cannot be stored") }
        if options.migration.isFresh { try await remove(options.name) }
        let name = PostgreSQLValue.text(options.name.withoutNull)
        let found = try await rows([
            PostgreSQLQuery(
                """
                INSERT INTO migration (name, fingerprint, options, createdAt) VALUES ($1, $2, $3, \(Self.clock))
                ON CONFLICT (name) DO NOTHING
                """,
                [
                    name, .text(String(decoding: source, as: UTF8.self)),
                    .text(String(decoding: encoded, as: UTF8.self)),
                ]),
            PostgreSQLQuery("SELECT id, fingerprint, options FROM migration WHERE name = $1", [name]),
        ]) { (id: try $0.integer(0), fingerprint: try $0.text(1), options: try $0.text(2)) }
        guard let row = found.first,
            let known = try? JSONDecoder().decode(SourceIdentity.self, from: Data(row.fingerprint.utf8)),
            let earlier = try? JSONDecoder().decode(
                MigrationOptions.PersistedOptions.self, from: Data(row.options.utf8))
        else { throw .notPossible("the migration \(options.name) in the database \(place) is damaged") }
        if let difference = fingerprint.difference(from: known) {
            throw .anotherSource(options.migration.source, reason: difference)
        }
        let differences = persisted.differences(from: earlier)
        guard differences.isEmpty else {
            throw .notPossible("\(differences.joined(separator: "; ")). Use --fresh to start over")
        }
        return row.id
    }

    /// Deletes a migration and its results.
    ///
    /// - Throws: `notPossible` while another worker has a lease.
    private func remove(_ name: String) async throws(RunError) {
        let isUsed = """
            EXISTS (SELECT 1 FROM migrationChunk c WHERE c.migration = m.id AND c.state = 1 AND c.expiresAt > \(Self.clock))
            OR EXISTS (SELECT 1 FROM migrationLease l WHERE l.migration = m.id AND l.expiresAt > \(Self.clock))
            """
        let found = try await rows(
            "SELECT id, (\(isUsed)) FROM migration m WHERE name = $1", [.text(name.withoutNull)]
        ) { (id: try $0.integer(0), isUsed: try $0.boolean(1)) }.first
        guard let found else { return }
        guard !found.isUsed else {
            throw .notPossible("--fresh: other workers are running; stop them first, and start one with --fresh")
        }
        let tables = [
            "results", "migrationAlias", "migrationIdentifier", "migrationCustomer", "migrationChunk", "migrationLease",
        ]
        try await run(
            [PostgreSQLQuery("DELETE FROM migration WHERE id = $1", [.integer(found.id)])]
                + tables.map { PostgreSQLQuery("DELETE FROM \($0) WHERE migration = $1", [.integer(found.id)]) },
            within: Self.longLimit)
    }

    /// Returns the database's time.
    func now() async throws(RunError) -> Int64 {
        try await rows("SELECT \(Self.clock)") { try $0.integer(0) }.first ?? 0
    }
}

extension SharedMigrationOptions {
    /// The options that all workers must have in common. An offline migration can be continued with the Server API,
    /// because its rows are kept either way.
    var comparedOptions: MigrationOptions.PersistedOptions {
        var options = migration.persisted
        options.withAPI = false
        return options
    }
}
