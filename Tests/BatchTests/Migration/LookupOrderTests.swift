import Reports
import Storage
import Testing
import TestSupport

import Batch

@Suite("Order and time of lookups")
struct LookupOrderTests {
    @Test("Customers with the latest expiry dates in authentic rows come first, those without a date last")
    func order() throws {
        let folder = try TemporaryFolder()
        let store = try MigrationStore(path: folder.path("progress"))
        let rows: [(customer: String, json: String)] = [
            ("1", #"{"verified":true}"#), ("2", #"{"verified":true,"expires":100}"#),
            ("3", #"{"verified":true,"expires":300}"#), ("4", #"{"verified":false,"expires":900}"#),
            ("2", #"{"verified":true,"expires":400}"#), ("5", #"{"verified":true,"expires":200}"#),
        ]
        var keys: [String: Int64] = [:]
        for (index, row) in rows.enumerated() {
            let key = try store.customer(
                of: [row.customer], bundleId: "com.example.app", environment: "Production", accountToken: nil)
            keys[row.customer] = key
            _ = try store.stage(
                StagedRow(row: Int64(index + 1), id: "r\(index)", customer: key, result: Array(row.json.utf8)))
        }
        let scope = try #require(try store.scopes(withEnvironment: true).first)
        try store.record(.notFound(reason: "4040010"), of: try #require(keys["5"]))
        try store.orderCustomersByExpiry()
        let first = try store.waitingCustomers(in: scope, byExpiry: true, after: 0, limit: 2)
        let rest = try store.waitingCustomers(
            in: scope, byExpiry: true, after: try #require(first.last).place, limit: 9)
        #expect((first + rest).map(\.key) == ["2", "3", "1", "4"].map { keys[$0] })
        #expect(try store.activeCustomers(at: 299) == 2)
        #expect(try store.activeCustomers(at: 300) == 1)
    }

    @Test("The time of the lookups is a sentence")
    func time() {
        func text(_ customers: Int64, _ active: Int64?, share: Double) -> String {
            var result = Migration.RunResult(counts: MigrationCounts())
            var tally = CustomerTally()
            tally.waiting = customers
            (result.customers, result.activeCustomers) = (tally, active)
            return result.lookupTime(callsPerHour: 180_000 * share, share: share)
        }
        #expect(
            text(20_000_000, 6_048_000, share: 0.5)
                == "20,000,000 customers: 111 h at the full limit, 9.3 days at 0.5; active subscribers after 2.8 days")
        #expect(
            text(1_000, 100, share: 0.25)
                == "1,000 customers: 1 min at the full limit, 2 min at 0.25; active subscribers after 1 min")
        #expect(text(900_000, nil, share: 1) == "900,000 customers: 5.0 h at the full limit")
    }
}
