import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("migrate --refresh", .timeLimit(.minutes(1)))
struct MigrateRefreshTests {
    private func migrate(
        _ fixture: CommandFixture, to name: String, _ words: String...
    ) async throws -> (rows: [JSONValue], calls: [String: Int]) {
        try await fixture.ask("DELETE", "/requests")
        let outcome = try await fixture.run(
            ["migrate", "in.jsonl", "--to", name, "--with-api", "--budget", "1"] + words)
        #expect(outcome.exit == 0, "\(outcome.errors)")
        let counts = try await fixture.ask("GET", "/requests")["counts"]
        let calls = ["history", "statuses"].map { ($0, Int(counts?["\($0).production"]?.integer ?? 0)) }
        return (try fixture.folder.lines(name), Dictionary(uniqueKeysWithValues: calls))
    }

    /// Without the members that differ between two downloads of the same state: signatures, and the time of signing.
    private func state(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let members):
            .object(
                members.filter { !["signedDate", "signedTransactions"].contains($0.key) }
                    .map { JSONValue.Member($0.key, state($0.value)) })
        case .array(let elements): .array(elements.map(state))
        default: value
        }
    }

    @Test("A refresh makes one history call for a customer, and its result is that of a full download")
    func changes() async throws {
        let fixture = try await CommandFixture(customers: 24)
        let subscriber = try #require(fixture.extendable().first?.customer)
        func event(_ name: String, _ count: Int = 1) async throws {
            for _ in 0..<count {
                try await fixture.ask(
                    "POST", "/events",
                    .object(["event": .string(name), "customer": .string(subscriber.id)]))
            }
        }
        // Three pages of 20 transactions.
        try await event("renew", 45)
        let receipts = try fixture.folder.lines("receipts.jsonl")
        let customers = fixture.customers().prefix(6).map(\.id) + [subscriber.id]
        let owned = try fixture.folder.lines("world.json").first?["customers"]?.elements ?? []
        let ids = owned.filter { customers.contains($0["id"]?.text ?? "") }
            .flatMap { $0["receipts"]?.elements?.compactMap(\.text) ?? [] }
        let rows = receipts.filter { ids.contains($0["id"]?.text ?? "") }
        try fixture.folder.write("in.jsonl", rows.flatMap { $0.bytes + [0x0A] })

        let first = try await migrate(fixture, to: "out.jsonl")
        let owners = Set(first.rows.compactMap { $0["transactions"] }).count
        let pages = try #require(first.calls["history"])
        #expect(owners > 3 && pages >= owners + 2)

        // A new period, a refund of an older one, and a change of the subscription without a transaction.
        try await event("renew", 2)
        try await event("refund")
        try await event("autoRenewOff")
        let refreshed = try await migrate(fixture, to: "out.jsonl", "--refresh")
        #expect(refreshed.calls["history"] == owners)
        #expect(refreshed.calls["statuses"] == first.calls["statuses"])
        let whole = try await migrate(fixture, to: "whole.jsonl")
        #expect(try #require(whole.calls["history"]) >= pages)
        #expect(refreshed.rows.map(state) == whole.rows.map(state))
        #expect(refreshed.rows.map(state) != first.rows.map(state))
        await fixture.stop()
    }
}
