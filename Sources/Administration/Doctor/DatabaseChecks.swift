import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeStorage

/// Checks the PostgreSQL database of the store: library, connection, TLS, rights, settings and tables. It changes
/// nothing.
struct DatabaseChecks {
    let address: PostgreSQLAddress
    let database: DatabaseConfiguration
    let isOffline: Bool
    let settings: ProxyConfiguration
    /// The apps whose customers a server looks up.
    let keyedApps: Set<String>
    let now: @Sendable () -> Timestamp

    private static let connectionTimeout = Duration.seconds(10)
    /// Oldest version of the server, as in `server_version_num`.
    private static let minimumVersion: Int64 = 140_000

    func all() async -> [CheckResult] {
        let library = Self.library(database.library)
        guard library.verdict == .pass else { return [library] }
        let local = [library] + (password.map { [$0] } ?? [])
        guard !isOffline else { return local }
        var configuration = PostgreSQLConfiguration(address, database)
        configuration.connections = 1
        let client = PostgreSQLClient(configuration)
        let results: [CheckResult]
        do throws(PostgreSQLError) {
            try await client.connected(within: Self.connectionTimeout)
            results = try await checks(client)
        } catch {
            results = [CheckResult("store", .fail, "\(address): \(error)", advice: Self.advice(for: error.code))]
        }
        await client.close()
        return local + results
    }

    /// A warning if libpq sends the password by whatever method the server asks for.
    private var password: CheckResult? {
        guard database.password != nil, address.canRevealPassword,
            let version = try? PostgreSQLClient.libraryVersion(of: database.library), version < 160_000
        else { return nil }
        return CheckResult(
            "store password", .warn,
            "libpq \(version / 10_000) sends it in clear text if the program at this address asks for that, whichever it is",
            advice:
                "use libpq 16 or later, a Unix socket (postgresql://USER@%2Frun%2Fpostgresql/DATABASE) or sslmode=verify-full"
        )
    }

    private static func library(_ name: String) -> CheckResult {
        do throws(PostgreSQLError) {
            let version = try PostgreSQLClient.libraryVersion(of: name)
            return CheckResult("store library", .pass, "\(name), libpq \(version / 10_000).\(version % 10_000)")
        } catch {
            return CheckResult(
                "store library", .fail, error.reason,
                advice: "install libpq 14 or later, for example with apt-get install libpq5, or set database.library")
        }
    }

    private func checks(_ client: PostgreSQLClient) async throws(PostgreSQLError) -> [CheckResult] {
        let begin = now()
        let clock = try await client.query(
            SQLStatement("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"))
        let end = now()
        let facts = try DatabaseFacts(await client.query(DatabaseFacts.query))
        let time = Timestamp(milliseconds: try clock.rows[0].integer(0))
        let difference = ClockDifference(of: time, readBetween: begin, and: end)
        var results = [server(facts), tls(facts), rights(facts), isolation(facts), Self.clock(difference)]
        let steps: PostgreSQLResult? = if facts.hasTables { try await client.query(DatabaseFacts.steps) } else { nil }
        results.append(try Self.schema(steps))
        if facts.hasTables {
            let rows = try await client.query(SQLStatement(LookupNeed.counts(at: now()))).rows
            var counts: [String: Int64] = [:]
            for row in rows { counts[try row.text(0)] = try row.integer(1) }
            let complete = try await client.query(SQLStatement(LookupNeed.completeCustomers(at: now()))).rows
            results += Doctor.customers(try complete.first?.integer(0) ?? 0) + Doctor.lookups(counts, of: keyedApps)
            let shared = try await client.query(SQLStatement(SharedIdentifiers.query)).rows
            results += Doctor.sharedIdentifiers(
                try shared.map { (row) throws(PostgreSQLError) in try row.text(0) }, of: settings)
        }
        if facts.port != nil, !address.hosts.contains(where: { Int64($0.port) == facts.port }) {
            results.append(pooler)
        }
        return results
    }

    private func server(_ facts: DatabaseFacts) -> CheckResult {
        let text = "\(address), PostgreSQL \(facts.version / 10_000).\(facts.version % 10_000)"
        guard facts.version >= Self.minimumVersion else {
            return CheckResult("store", .fail, "\(text): too old", advice: "PostgreSQL 14 or later is needed")
        }
        guard !facts.isStandby, !facts.isReadOnly else {
            return CheckResult(
                "store", .fail, "\(text): \(facts.isStandby ? "a standby" : "read-only")",
                advice: "name all hosts in store, and leave target_session_attrs out or set it to read-write")
        }
        return CheckResult("store", .pass, text)
    }

    private func tls(_ facts: DatabaseFacts) -> CheckResult {
        if let version = facts.tlsVersion {
            return CheckResult("store TLS", .pass, "\(version), sslmode \(address.tlsMode)")
        }
        guard !address.isLocal else {
            return CheckResult("store TLS", .pass, "not used: the server is on this machine")
        }
        return CheckResult(
            "store TLS", .warn, "the server's own connection does not use TLS",
            advice: "if a pooler is between this machine and the server, enable TLS between the two")
    }

    private func rights(_ facts: DatabaseFacts) -> CheckResult {
        guard let schema = facts.schema else {
            return CheckResult(
                "store rights", .fail, "no schema of search_path exists",
                advice: "CREATE SCHEMA AUTHORIZATION \"\(address.user)\"")
        }
        guard facts.canCreate else {
            return CheckResult(
                "store rights", facts.hasTables ? .warn : .fail,
                "\(address.user) cannot create tables in the schema \(schema)",
                advice: "GRANT USAGE, CREATE ON SCHEMA \"\(schema)\" TO \"\(address.user)\"; upgrades need it too")
        }
        return CheckResult(
            "store rights", .pass,
            "\(address.user) can create tables in the schema \(schema)\(facts.hasTables ? "" : ", which has none yet")")
    }

    private func isolation(_ facts: DatabaseFacts) -> CheckResult {
        guard facts.isolation != "read committed" else {
            return CheckResult("store isolation", .pass, facts.isolation)
        }
        return CheckResult(
            "store isolation", .warn, "\(facts.isolation) by default: concurrent writes fail and are repeated",
            advice: "ALTER ROLE \"\(address.user)\" SET default_transaction_isolation = 'read committed'")
    }

    private static func clock(_ difference: ClockDifference) -> CheckResult {
        let text = difference.description
        guard difference.isTooLarge else { return CheckResult("store clock", .pass, text) }
        return CheckResult("store clock", .warn, text, advice: "synchronize both clocks with NTP")
    }

    private static func schema(_ steps: PostgreSQLResult?) throws(PostgreSQLError) -> CheckResult {
        guard let steps else { return CheckResult("store schema", .pass, "no tables yet; created at the next start") }
        let known = PostgreSQLStore.schemaStepNames
        var applied: Set<String> = []
        for row in steps.rows {
            let name = try row.text(0)
            applied.insert(name)
            let isCompatible = try row.boolean(1)
            guard known.contains(name) || isCompatible else {
                return CheckResult(
                    "store schema", .fail, "an incompatible newer version of receipt-bridge uses this database",
                    advice: "run that version, or a newer one; the data is intact")
            }
        }
        let missing = known.filter { !applied.contains($0) }
        let last = known.last { applied.contains($0) } ?? "none yet"
        return CheckResult(
            "store schema", .pass,
            missing.isEmpty ? last : "\(last); \(missing.joined(separator: ", ")) applied at the next start")
    }

    private var pooler: CheckResult {
        let text = "the server has another port than the address, so a pooler may be in between"
        guard database.usesPreparedStatements else { return CheckResult("store pooler", .pass, text) }
        return CheckResult(
            "store pooler", .warn, text,
            advice: "with pgbouncer before 1.21 in transaction mode, set database.preparedStatements: false")
    }

    private static func advice(for code: PostgreSQLError.Code) -> String {
        switch code {
        case .notPermitted: "check database.password, the user's rights and pg_hba.conf"
        case .missing: "create the database: createdb -O USER DATABASE"
        case .tooManyConnections: "raise max_connections, or lower database.connections"
        case .readOnly: "name all hosts in store, so that the writable one is found"
        default: "start the server, and allow connections from this machine; receipts are answered without it"
        }
    }
}
