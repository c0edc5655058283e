import Batch
import Foundation
import GRDB
import Reports
import Storage
import Testing
import TestSupport

@Suite("Migration progress files")
struct MigrationStoreTests {
    private let path = TestProcess.folder.appending(path: "\(UUID().uuidString).progress").path

    private func with<Value>(_ work: (MigrationStore) throws -> Value) throws -> Value {
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try work(try MigrationStore(path: path))
    }

    private func customer(_ identifiers: String..., in ledger: MigrationStore, token: String? = nil) throws -> Int64 {
        try ledger.customer(
            of: identifiers, bundleId: "com.example.app", environment: "Production", accountToken: token)
    }

    /// Returns the customers of the first app whose lookup is pending.
    private func waitingCustomers(in ledger: MigrationStore) throws -> [MigrationCustomer] {
        try ledger.waitingCustomers(in: 1, after: 0, limit: 10).compactMap { try ledger.waitingCustomer($0.key) }
    }

    @Test("Saved values are readable at once, and the file is private and locked")
    func state() throws {
        try with { ledger in
            try ledger.save([1, 2], as: "a")
            try ledger.commit()
            try ledger.save([3], as: "a")
            #expect(try ledger.state("a") == [3])
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(throws: StorageError.self) { try MigrationStore(path: path) }
        }
    }

    // T23
    @Test("A number that no run has counted is damage, so that nothing that is computed with it overflows")
    func numbers() throws {
        struct Stored: Decodable {
            var rows: Int64?
            var years: [String: Int64]?
            var size: Int64?
        }
        try with { ledger in
            for json in [
                #"{"rows":9223372036854775807}"#, #"{"rows":-9223372036854775808}"#, #"{"rows":9e18}"#,
                #"{"years":{"2024":9223372036854775807}}"#,
            ] {
                try ledger.save(Array(json.utf8), as: "a")
                let error = #expect(throws: StorageError.self) { try ledger.state("a", as: Stored.self) }
                #expect(error?.code == .notADatabase, "\(json)")
            }
            // The largest key of a table, which is only compared.
            try ledger.save(Array(#"{"size":9223372036854775807,"rows":7}"#.utf8), as: "a")
            #expect(try ledger.state("a", as: Stored.self)?.rows == 7)
            for (text, number) in [("7", 7), ("", nil)] as [(String, Int64?)] {
                try ledger.save(Array(text.utf8), as: "a")
                #expect(try ledger.number("a", in: 0...9) == number)
            }
            for text in ["10", "-1", "x", "9223372036854775808"] {
                try ledger.save(Array(text.utf8), as: "a")
                #expect(throws: StorageError.self, "\(text)") { try ledger.number("a", in: 0...9) }
            }
            #expect(try ledger.stage(StagedRow(row: .max, id: "a", customer: nil, result: [])))
            #expect(throws: StorageError.self) { try ledger.stagedRows(after: 0, limit: 1) }
        }
    }

    @Test("Uncommitted changes are lost when the process ends")
    func crash() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            let ledger = try MigrationStore(path: path)
            try ledger.save([1], as: "a")
            try ledger.commit()
            try ledger.save([2], as: "a")
        }
        let ledger = try MigrationStore(path: path)
        #expect(try ledger.state("a") == [1])
    }

    @Test("Rows that share an identifier belong to one customer, in any order of rows")
    func customers() throws {
        try with { ledger in
            let first = try customer("1", in: ledger)
            let second = try customer("2", "3", in: ledger)
            #expect(first != second)
            #expect(try customer("3", in: ledger) == second)
            _ = try ledger.stage(StagedRow(row: 1, id: "r", customer: second, result: [7]))
            let both = try customer("2", "1", in: ledger)
            #expect(both == min(first, second))
            #expect(try customer("3", in: ledger) == both)
            let waiting = try waitingCustomers(in: ledger)
            #expect(waiting.map(\.identifiers) == [["1", "2", "3"]])
            #expect(try ledger.stagedRows(after: 0, limit: 10).map(\.staged.customer) == [both])
            let elsewhere = try ledger.customer(
                of: ["1"], bundleId: "com.example.app", environment: "Sandbox", accountToken: nil)
            #expect(elsewhere != both)
        }
    }

    @Test("A history merges pending customers with its identifiers, so that they are not looked up")
    func histories() throws {
        try with { ledger in
            let (first, second) = (try customer("1", in: ledger), try customer("2", in: ledger))
            _ = try ledger.stage(StagedRow(row: 1, id: "r", customer: second, result: []))
            let columns = CustomerColumns(
                environment: "Production",
                APIColumns(
                    appAppleId: 5, transactions: [1], subscriptions: [2], signedTransactions: [3], revision: "r"),
                identifiers: ["1", "2"])
            try ledger.record(.known(columns), of: first)
            #expect(try waitingCustomers(in: ledger).isEmpty)
            #expect(try ledger.waitingCustomer(second) == nil)
            let finding = try #require(try ledger.stagedRows(after: 0, limit: 10).first?.finding)
            guard case .known(let found) = finding else {
                Issue.record("\(finding)")
                return
            }
            #expect(found.api == columns.api)
            let tally = try ledger.tally()
            #expect(tally.all == 1 && tally.known == 1)
        }
    }

    private func known(_ identifiers: String...) -> CustomerLookupResult {
        let text = Array("[\(identifiers.map { "\"\($0)\"" }.joined(separator: ","))]".utf8)
        return .known(
            CustomerColumns(
                environment: "Production",
                APIColumns(
                    appAppleId: 5, transactions: text, subscriptions: [2], signedTransactions: [3], revision: "r"),
                identifiers: identifiers))
    }

    /// Returns the transactions of a row's customer, or `nil` if there are none.
    private func records(of row: Int64, in ledger: MigrationStore) throws -> [UInt8]? {
        let found = try ledger.stagedRows(after: row - 1, limit: 1).first?.finding
        guard case .known(let columns)? = found else { return nil }
        return columns.api.transactions
    }

    @Test("Merging a customer with one that was not found keeps the data of the first", arguments: [true, false])
    func mergedRecords(isKnownFirst: Bool) throws {
        try with { ledger in
            let keys = [try customer("1", in: ledger), try customer("2", in: ledger)]
            let (key, other) = isKnownFirst ? (keys[0], keys[1]) : (keys[1], keys[0])
            let finding = isKnownFirst ? known("1") : known("2")
            try ledger.record(finding, of: key)
            try ledger.record(.notFound(reason: "4040010"), of: other)
            for (row, customer) in zip(Int64(1)..., [key, other]) {
                #expect(try ledger.stage(StagedRow(row: row, id: "r\(row)", customer: customer, result: [])))
            }
            let before = try records(of: 1, in: ledger)
            #expect(before != nil)
            #expect(try customer("1", "2", in: ledger) == key)
            for row in Int64(1)...2 { #expect(try records(of: row, in: ledger) == before) }
            let waiting = try waitingCustomers(in: ledger)
            #expect(waiting.map(\.identifiers) == [["1", "2"]])
            #expect(waiting.first?.previousLookup?.revision == "r")
            try ledger.record(known("1", "2"), of: key)
            #expect(try ledger.tally().known == 1)
        }
    }

    @Test("Only a customer that gains an identifier outside its history is looked up again")
    func gains() throws {
        try with { ledger in
            let (first, second) = (try customer("1", in: ledger), try customer("8", in: ledger))
            try ledger.record(known("1", "2"), of: first)
            try ledger.record(.notFound(reason: "4040010"), of: second)
            #expect(try customer("1", "2", in: ledger) == first)
            #expect(try customer("8", in: ledger) == second)
            #expect(try waitingCustomers(in: ledger).isEmpty)
            #expect(try customer("1", "3", in: ledger) == first)
            #expect(try customer("8", "9", in: ledger) == second)
            #expect(try waitingCustomers(in: ledger).map(\.key) == [first, second])
        }
    }

    @Test("A row that is not authentic gets its own customer, which changes no other customer and has no account token")
    func claims() throws {
        try with { ledger in
            func claimed(_ identifiers: String...) throws -> Int64 {
                try ledger.claimedCustomer(
                    of: identifiers, bundleId: "com.example.app", environment: "Production")
            }
            let (first, second) = (try customer("1", in: ledger, token: "a"), try customer("2", in: ledger))
            let claim = try claimed("2", "1")
            #expect(try claimed("1", "2") == claim)
            #expect(try claimed("1") != claim)
            #expect(try customer("1", in: ledger) == first)
            #expect(try customer("2", in: ledger) == second)
            let waiting = try waitingCustomers(in: ledger)
            #expect(waiting.map(\.identifiers) == [["1"], ["2"], ["1", "2"], ["1"]])
            #expect(waiting.map(\.accountToken) == ["a", nil, nil, nil])
            try ledger.record(known("1", "2"), of: claim)
            #expect(try ledger.waitingCustomer(first) != nil)
            #expect(try ledger.waitingCustomer(second) != nil)
            #expect(try ledger.customersWithToken(after: 0, limit: 10).isEmpty)
        }
    }

    @Test("An account token is set on all purchases of a customer, but a lookup uses only some of them")
    func manyPurchases() throws {
        try with { ledger in
            let identifiers = (1_000..<1_300 as Range<Int>).map { "\($0)" }
            let key = try ledger.customer(
                of: identifiers, bundleId: "com.example.app", environment: "Production", accountToken: "a")
            #expect(try waitingCustomers(in: ledger).map(\.identifiers.count) == [200])
            try ledger.record(known("1000"), of: key)
            #expect(try ledger.customersWithToken(after: 0, limit: 10).map(\.identifiers) == [identifiers])
        }
    }

    @Test("A customer keeps the previous lookup result until a new lookup succeeds")
    func refresh() throws {
        try with { ledger in
            let keys = [try customer("1", in: ledger), try customer("2", in: ledger)]
            for (row, customer) in zip(Int64(1)..., keys) {
                #expect(try ledger.stage(StagedRow(row: row, id: "r\(row)", customer: customer, result: [])))
            }
            try ledger.record(known("1"), of: keys[0])
            try ledger.record(.notFound(reason: "4040010"), of: keys[1])
            let before = try ledger.stagedRows(after: 0, limit: 10).map(\.finding)
            try ledger.refreshCustomers()
            #expect(try ledger.tally().waiting == 2)
            #expect(try ledger.stagedRows(after: 0, limit: 10).map(\.finding) == before)
            try ledger.record(.failed(reason: "deadline"), of: keys[0])
            #expect(try ledger.staleCustomers() == 1)
            #expect(try ledger.stagedRows(after: 0, limit: 10).map(\.finding) == before)
            try ledger.record(.notFound(reason: "4040010"), of: keys[0])
            #expect(try records(of: 1, in: ledger) == nil)
            try ledger.refreshCustomers()
            #expect(try records(of: 1, in: ledger) == nil)
        }
    }

    @Test("A file of an older version or of another program is refused")
    func versions() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        for version in [0, 1] {
            let queue = try DatabaseQueue(path: path)
            try queue.write { db in
                try db.execute(sql: "CREATE TABLE IF NOT EXISTS customer (key INTEGER PRIMARY KEY)")
                try db.execute(sql: "PRAGMA user_version = \(version)")
            }
            try queue.close()
            let error = #expect(throws: StorageError.self) { _ = try MigrationStore(path: path) }
            #expect(error?.code == .changed)
        }
    }

    @Test("Each reason for refusal is stored once, and a file with a reason in each row is migrated")
    func reasonsOfRefusals() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        func refusal(_ row: Int64, _ id: String, _ reason: String = "ends at byte 9") -> Refusal {
            Refusal(row: row, id: id, code: "truncated", place: "a\0b", reason: reason)
        }
        do { _ = try MigrationStore(path: path) }
        // The format of version 2: text from outside as bytes in TEXT columns.
        let queue = try DatabaseQueue(path: path)
        try queue.write { db in
            try db.execute(
                sql: """
                    DROP TABLE refusal; DROP TABLE refusalReason; DROP INDEX customerByDownload;
                    ALTER TABLE customer DROP COLUMN appTransactionId;
                    ALTER TABLE customer DROP COLUMN appTransaction;
                    CREATE TABLE refusal (
                        row INTEGER PRIMARY KEY, id TEXT NOT NULL, code TEXT NOT NULL, place TEXT NOT NULL,
                        reason TEXT NOT NULL);
                    INSERT INTO refusal VALUES
                        (1, x'6131', 'truncated', x'610062', CAST('ends at byte 9' AS BLOB)),
                        (2, x'6132', 'truncated', x'610062', CAST('ends at byte 7' AS BLOB)),
                        (3, x'6100', 'truncated', x'610062', CAST('ends at byte 9' AS BLOB));
                    PRAGMA user_version = 2;
                    """)
        }
        try queue.close()
        do {
            let ledger = try MigrationStore(path: path)
            #expect(
                try ledger.refusals(after: 0, limit: 10)
                    == [refusal(1, "a1"), refusal(2, "a2", "ends at byte 7"), refusal(3, "a\0")])
            try ledger.deleteRows(after: 2)
            try ledger.add([refusal(3, "a3"), refusal(4, "a4", "another")])
            try ledger.commit()
        }
        do {
            let ledger = try MigrationStore(path: path)
            #expect(
                try ledger.refusals(after: 1, limit: 10)
                    == [refusal(2, "a2", "ends at byte 7"), refusal(3, "a3"), refusal(4, "a4", "another")])
        }
        let reasons = try DatabaseQueue(path: path).read {
            try String.fetchAll($0, sql: "SELECT CAST(reason AS TEXT) FROM refusalReason ORDER BY 1")
        }
        #expect(reasons == ["another", "ends at byte 7", "ends at byte 9"])
    }

    @Test("A file without customers of app transactions is migrated, and keeps its customers")
    func olderCustomers() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            let ledger = try MigrationStore(path: path)
            _ = try customer("1", in: ledger)
            try ledger.commit()
        }
        // The format of version 3.
        let queue = try DatabaseQueue(path: path)
        try queue.write { db in
            try db.execute(
                sql: """
                    DROP INDEX customerByDownload;
                    ALTER TABLE customer DROP COLUMN appTransactionId;
                    ALTER TABLE customer DROP COLUMN appTransaction;
                    PRAGMA user_version = 3;
                    """)
        }
        try queue.close()
        let ledger = try MigrationStore(path: path)
        let download = try ledger.customer(
            ofDownload: "9", bundleId: "com.example.app", environment: "Production")
        let waiting = try waitingCustomers(in: ledger)
        #expect(waiting.map(\.identifiers) == [["1"], []] && waiting.map(\.appTransactionId) == [nil, "9"])
        #expect(waiting.last?.key == download)
    }

    @Test("Rows with the same app transaction id are one customer, which is never merged with another")
    func downloads() throws {
        try with { ledger in
            func download(_ environment: String) throws -> Int64 {
                try ledger.customer(ofDownload: "9", bundleId: "com.example.app", environment: environment)
            }
            let first = try download("Production")
            #expect(try download("Production") == first)
            #expect(try download("Sandbox") != first)
            #expect(try customer("9", in: ledger) != first)
            _ = try ledger.stage(StagedRow(row: 1, id: "r", customer: first, result: []))
            var columns = CustomerColumns(
                environment: "Production",
                APIColumns(appAppleId: 5, transactions: [2], subscriptions: [2], signedTransactions: [2]))
            columns.api.appTransaction = [7]
            try ledger.record(.known(columns), of: first)
            #expect(try ledger.stagedRows(after: 0, limit: 1).first?.finding == .known(columns))
            try ledger.record(.notFound(reason: "4040019"), of: first)
            #expect(try ledger.stagedRows(after: 0, limit: 1).first?.finding == .notFound(reason: "4040019"))
        }
    }

    @Test("Customers whose lookup failed are retried, and those that were not found are not")
    func failures() throws {
        try with { ledger in
            let (first, second) = (try customer("1", in: ledger), try customer("2", in: ledger))
            try ledger.record(.failed(reason: "deadline"), of: first)
            try ledger.record(.notFound(reason: "4040010"), of: second)
            try ledger.retryFailedCustomers()
            #expect(try waitingCustomers(in: ledger).map(\.key) == [first])
            let tally = try ledger.tally()
            #expect(tally.waiting == 1 && tally.notFound == 1)
        }
    }

    @Test(
        "A customer has an account token if its rows have the same one, case-insensitively, and none if they have two")
    func tokens() throws {
        try with { ledger in
            let first = try customer("1", in: ledger, token: "AB")
            #expect(try customer("1", in: ledger, token: "ab") == first)
            #expect(try waitingCustomers(in: ledger).first?.accountToken == "AB")
            _ = try customer("2", in: ledger, token: "cd")
            _ = try customer("1", "2", in: ledger)
            #expect(try waitingCustomers(in: ledger).first?.accountToken == nil)
            #expect(try ledger.customersWithSeveralTokens() == 1)
        }
    }

    /// A regression test. When ids ended at their first zero byte, two rows became one, and renaming the second one
    /// never ended.
    @Test("Ids are stored unchanged, including zero bytes")
    func zeroBytes() throws {
        try with { ledger in
            let ids = ["a\0b", "a\0c", "\0", "a"]
            for (row, id) in zip(Int64(1)..., ids) {
                #expect(try ledger.stage(StagedRow(row: row, id: id, customer: nil, result: [1])))
                try ledger.add([Refusal(row: row, id: id, code: "c", place: "p\0q", reason: "r")])
            }
            #expect(try !ledger.stage(StagedRow(row: 9, id: "a\0b", customer: nil, result: [])))
            #expect(try ledger.stagedRows(after: 0, limit: 10).map(\.staged.id) == ids)
            #expect(try ledger.refusals(after: 0, limit: 10).map(\.id) == ids)
            #expect(try ledger.refusals(after: 0, limit: 10).first?.place == "p\0q")
        }
    }
}
