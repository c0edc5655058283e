import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("State directory of the simulator")
struct StateDirectoryTests {
    /// Writes the state of a new store to a folder.
    private func written(
        seed: UInt64, customers: Int, clock: SimulatedClock = .fixed(SharedSimulator.noon), host: String = "127.0.0.1",
        options: WorldOptions = .init()
    ) throws -> (folder: TemporaryFolder, store: SimulatedStore) {
        let folder = try TemporaryFolder()
        let directory = try StateDirectory(folder.url.path)
        let store = try directory.open(
            seed: seed, customers: customers, clock: clock, newKeys: SharedSimulator.pki, options: options)
        try directory.write(store, host: host, port: 8090)
        return (folder, store)
    }

    @Test("The directory is complete before the port responds")
    func complete() throws {
        let (scratch, store) = try written(seed: 1, customers: 20)
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.url.path).sorted()
        #expect(
            names == [
                "SubscriptionKey_SIMKEY0001.p8", "hostile.jsonl", "intermediates", "keys", "receipt-bridge.yaml",
                "receipts", "receipts.jsonl", "roots", "shared-secret.txt", "signed.jsonl", "world.json",
            ])
        let receipts = try scratch.lines("receipts.jsonl")
        #expect(receipts.count >= 20)
        for line in receipts {
            #expect(keys(line) == ["id", "receipt", "environment", "style", "originalTransactionIds"])
            let id = try #require(line["id"]?.text)
            #expect(try scratch.text("receipts/\(id).b64") == line["receipt"]?.text)
        }
        #expect(receipts[0]["environment"]?.text == "Production")
        #expect(receipts[0]["style"]?.text == "appReceipt")
        for key in ["environment", "style"] {
            #expect(Set(receipts.prefix(20).compactMap { $0[key]?.text }).count == 2)
        }
        let signed = try scratch.lines("signed.jsonl")
        let customers = store.world.customers.filter { !$0.transactions.isEmpty }
        #expect(signed.compactMap { $0["id"]?.text } == customers.map(\.id))
        for (line, customer) in zip(signed, customers) {
            #expect(keys(line) == ["id", "environment", "signedTransaction", "originalTransactionId"])
            #expect(line["environment"]?.text == customer.environment.rawValue)
            let row = try decoded(line["signedTransaction"])
            #expect(row["originalTransactionId"] == line["originalTransactionId"])
            let newest = customer.transactions.last(where: \.isAutoRenewable) ?? customer.transactions.last
            #expect(row["transactionId"]?.text == newest?.transactionId)
        }
        let hostile = try scratch.lines("hostile.jsonl")
        #expect(keys(hostile[0]).suffix(3) == ["mangling", "expected", "status"])
        #expect(Set(hostile.compactMap { $0["expected"]?.text }) == ["decoded", "noTransactions", "refused"])
    }

    @Test("world.json has the documented members")
    func world() throws {
        let scratch = try written(seed: 3, customers: 6, host: "::1").folder
        let world = try #require(try scratch.lines("world.json").first)
        #expect(keys(world) == ["seed", "clock", "customers"])
        #expect(world["clock"]?.text == "2026-11-21T12:00:00Z")
        let customers = try #require(world["customers"]?.elements)
        #expect(customers.count == 6)
        for customer in customers {
            #expect(keys(customer) == ["id", "environment", "receipts", "transactions", "renewals", "expected"])
            #expect(keys(customer["expected"]) == ["status", "activeProductIds"])
        }
        #expect(
            try scratch.text("receipt-bridge.yaml").contains(
                "production: http://[::1]:8090/production/verifyReceipt"))
    }

    @Test("A restarted simulator has the same additional customers, and directories without newer options stay valid")
    func options() throws {
        let options = WorldOptions(newestFields: true, sandboxClock: .apple)
        let (folder, first) = try written(seed: 5, customers: 4, options: options)
        let second = try StateDirectory(folder.url.path).open(
            seed: 5, customers: 4, clock: .fixed(SharedSimulator.noon), options: options)
        #expect(second.world.customers == first.world.customers)
        #expect(second.world.customers.count == 4 + 2 * CustomerKind.newestKinds.count)
        #expect(second.receipts.map(\.bytes) == first.receipts.map(\.bytes))
        let plain = try written(seed: 5, customers: 1).folder
        #expect(keys(try plain.lines("keys/world.json").first?["options"]) == ["preOrders", "upgradesAreCancelled"])
    }

    @Test("Keys and secrets can be read by their owner only")
    func permissions() throws {
        let folder = try written(seed: 1, customers: 1).folder
        for (name, mode) in [
            ("", 0o700), ("keys", 0o700), ("keys/root.pem", 0o600), ("shared-secret.txt", 0o600),
            ("SubscriptionKey_SIMKEY0001.p8", 0o600),
        ] { #expect(try folder.permissions(name) == mode, "\(name)") }
    }

    @Test("A restarted simulator accepts the receipts it issued before, including latest receipts")
    func restart() throws {
        let (folder, first) = try written(seed: 5, customers: 4, clock: .real)
        let receipt = try #require(first.receipts.first).base64
        let latest = try #require(try first.verdict(on: receipt)["latest_receipt"]?.text)
        let second = try StateDirectory(folder.url.path).open(seed: 5, customers: 4, clock: .real)
        #expect(second.world.customers == first.world.customers)
        #expect(second.receipts.map(\.bytes) == first.receipts.map(\.bytes))
        #expect(try second.verdict(on: receipt)["latest_receipt"]?.text == latest)
        #expect(try second.verdict(on: latest)["status"]?.integer == 0)
        let other = try StateDirectory(folder.url.path).open(seed: 6, customers: 4, clock: .real)
        #expect(try other.verdict(on: receipt)["status"]?.integer == 21003)
        #expect(other.pki.root.certificate == first.pki.root.certificate)
    }

    @Test("The directory of sample receipts has a directory for each case, and no keys")
    func receiptsFolder() throws {
        let folder = try TemporaryFolder()
        try ReceiptsFolder(folder.url, pki: SharedSimulator.pki).write()
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.url.path)
        #expect(names.filter { $0.hasSuffix("/receipt.b64") }.count == 12)
        #expect(names.filter { $0.hasSuffix("upstream/verifyReceipt.json") }.count == 12)
        #expect(names.filter { $0.hasSuffix(".cer") }.count == 4)
        #expect(!names.contains { $0.hasSuffix(".pem") || $0.hasSuffix(".p8") })
        for (name, status) in [
            ("app-receipt-active", 0), ("ios6-v3-expired", 21006), ("ios6-v4-active", 0), ("tampered", 21003),
            ("foreign-root", 21003),
        ] as [(String, Int64)] {
            let answer = try JSONValue(reading: try folder.read("\(name)/upstream/verifyReceipt.json"))
            #expect(answer["status"]?.integer == status)
        }
    }
}
