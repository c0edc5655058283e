import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("State directory of the simulator")
struct StateDirectoryTests {
    private func lines(_ path: String) throws -> [JSONValue] {
        let bytes = [UInt8](try #require(FileManager.default.contents(atPath: path)))
        return try bytes.split(separator: 0x0A).map { try JSONValue(reading: Array($0)) }
    }

    private func keys(_ value: JSONValue?) -> [String] {
        if case .object(let members)? = value { members.map(\.key) } else { [] }
    }

    @Test("The directory is complete before the port responds")
    func complete() throws {
        let scratch = try Scratch()
        let directory = try StateDirectory(scratch.path)
        let store = try directory.open(seed: 1, customers: 20, clock: .fixed(Shared.noon), newKeys: Shared.pki)
        try directory.write(store, host: "127.0.0.1", port: 8090)
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted()
        #expect(
            names == [
                "SubscriptionKey_SIMKEY0001.p8", "hostile.jsonl", "intermediates", "keys", "receipt-bridge.yaml",
                "receipts", "receipts.jsonl", "roots", "shared-secret.txt", "signed.jsonl", "world.json",
            ])
        let receipts = try lines("\(scratch.path)/receipts.jsonl")
        #expect(receipts.count >= 20)
        for line in receipts {
            #expect(keys(line) == ["id", "receipt", "environment", "style", "originalTransactionIds"])
            let id = try #require(line["id"]?.text)
            let file = FileManager.default.contents(atPath: "\(scratch.path)/receipts/\(id).b64")
            #expect(file.map { String(decoding: $0, as: UTF8.self) } == line["receipt"]?.text)
        }
        #expect(receipts[0]["environment"]?.text == "Production")
        #expect(receipts[0]["style"]?.text == "appReceipt")
        for key in ["environment", "style"] {
            #expect(Set(receipts.prefix(20).compactMap { $0[key]?.text }).count == 2)
        }
        let signed = try lines("\(scratch.path)/signed.jsonl")
        let customers = store.world.customers.filter { !$0.transactions.isEmpty }
        #expect(signed.compactMap { $0["id"]?.text } == customers.map(\.id))
        for (line, customer) in zip(signed, customers) {
            #expect(keys(line) == ["id", "environment", "signedTransaction", "originalTransactionId"])
            #expect(line["environment"]?.text == customer.environment.rawValue)
            let row = try ServerAPICaller.payload(try #require(line["signedTransaction"]))
            #expect(row["originalTransactionId"] == line["originalTransactionId"])
            let newest = customer.transactions.last(where: \.isAutoRenewable) ?? customer.transactions.last
            #expect(row["transactionId"]?.text == newest?.transactionId)
        }
        let hostile = try lines("\(scratch.path)/hostile.jsonl")
        #expect(keys(hostile[0]).suffix(3) == ["mangling", "expected", "status"])
        #expect(Set(hostile.compactMap { $0["expected"]?.text }) == ["decoded", "noTransactions", "refused"])
    }

    @Test("world.json has the documented members")
    func world() throws {
        let scratch = try Scratch()
        let directory = try StateDirectory(scratch.path)
        try directory.write(
            try directory.open(seed: 3, customers: 6, clock: .fixed(Shared.noon), newKeys: Shared.pki), host: "::1",
            port: 1)
        let world = try #require(try lines("\(scratch.path)/world.json").first)
        #expect(keys(world) == ["seed", "clock", "customers"])
        #expect(world["clock"]?.text == "2026-11-21T12:00:00Z")
        let customers = try #require(world["customers"]?.elements)
        #expect(customers.count == 6)
        for customer in customers {
            #expect(keys(customer) == ["id", "environment", "receipts", "transactions", "renewals", "expected"])
            #expect(keys(customer["expected"]) == ["status", "activeProductIds"])
        }
        let yaml = try String(contentsOfFile: "\(scratch.path)/receipt-bridge.yaml", encoding: .utf8)
        #expect(yaml.contains("production: http://[::1]:1/production/verifyReceipt"))
    }

    @Test("A restarted simulator has the same additional customers, and directories without newer options stay valid")
    func options() throws {
        let scratch = try Scratch()
        let options = WorldOptions(newestFields: true, sandboxClock: .apple)
        let first = try StateDirectory(scratch.path).open(
            seed: 5, customers: 4, clock: .fixed(Shared.noon), newKeys: Shared.pki, options: options)
        try StateDirectory(scratch.path).write(first)
        let second = try StateDirectory(scratch.path).open(
            seed: 5, customers: 4, clock: .fixed(Shared.noon), options: options)
        #expect(second.world.customers == first.world.customers)
        #expect(second.world.customers.count == 4 + 2 * CustomerKind.newestKinds.count)
        #expect(second.receipts.map(\.bytes) == first.receipts.map(\.bytes))
        let plain = try Scratch()
        let directory = try StateDirectory(plain.path)
        try directory.write(try directory.open(seed: 5, customers: 1, clock: .fixed(Shared.noon), newKeys: Shared.pki))
        let world = try #require(FileManager.default.contents(atPath: "\(plain.path)/keys/world.json"))
        #expect(keys(try JSONValue(reading: [UInt8](world))["options"]) == ["preOrders", "upgradesAreCancelled"])
    }

    @Test("Keys and secrets can be read by their owner only")
    func permissions() throws {
        let scratch = try Scratch()
        let directory = try StateDirectory("\(scratch.path)/state")
        try directory.write(
            try directory.open(seed: 1, customers: 1, clock: .fixed(Shared.noon), newKeys: Shared.pki),
            host: "127.0.0.1", port: 1)
        for (name, mode) in [
            ("state", 0o700), ("state/keys", 0o700), ("state/keys/root.pem", 0o600), ("state/shared-secret.txt", 0o600),
            ("state/SubscriptionKey_SIMKEY0001.p8", 0o600),
        ] {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(scratch.path)/\(name)")
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode, "\(name)")
        }
    }

    @Test("A restarted simulator accepts the receipts it issued before, including latest receipts")
    func restart() throws {
        let scratch = try Scratch()
        let directory = try StateDirectory(scratch.path)
        let first = try directory.open(seed: 5, customers: 4, clock: .real, newKeys: Shared.pki)
        try directory.write(first, host: "127.0.0.1", port: 1)
        func ask(_ store: SimulatedStore, _ text: String) throws -> JSONValue {
            let request = JSONValue.object([
                "receipt-data": .string(text), "password": .string(SimulatedApp.first.sharedSecret),
            ])
            return try store.verifyReceipt.answer(body: request.bytes, at: .automatic)
        }
        let receipt = try #require(first.receipts.first).base64
        let latest = try #require(try ask(first, receipt)["latest_receipt"]?.text)
        let second = try StateDirectory(scratch.path).open(seed: 5, customers: 4, clock: .real)
        #expect(second.world.customers == first.world.customers)
        #expect(second.receipts.map(\.bytes) == first.receipts.map(\.bytes))
        #expect(try ask(second, receipt)["latest_receipt"]?.text == latest)
        #expect(try ask(second, latest)["status"]?.integer == 0)
        let other = try StateDirectory(scratch.path).open(seed: 6, customers: 4, clock: .real)
        #expect(try ask(other, receipt)["status"]?.integer == 21003)
        #expect(other.pki.root.certificate == first.pki.root.certificate)
    }

    @Test("The directory of sample receipts has a directory for each case, and no keys")
    func receiptsFolder() throws {
        let scratch = try Scratch()
        try ReceiptsFolder(URL(filePath: scratch.path), pki: Shared.pki).write()
        let names = try FileManager.default.subpathsOfDirectory(atPath: scratch.path)
        #expect(names.filter { $0.hasSuffix("/receipt.b64") }.count == 12)
        #expect(names.filter { $0.hasSuffix("upstream/verifyReceipt.json") }.count == 12)
        #expect(names.filter { $0.hasSuffix(".cer") }.count == 4)
        #expect(!names.contains { $0.hasSuffix(".pem") || $0.hasSuffix(".p8") })
        for (name, status) in [
            ("app-receipt-active", 0), ("ios6-v3-expired", 21006), ("ios6-v4-active", 0), ("tampered", 21003),
            ("foreign-root", 21003),
        ] {
            let answer = try #require(
                FileManager.default.contents(atPath: "\(scratch.path)/\(name)/upstream/verifyReceipt.json"))
            #expect(try JSONValue(reading: [UInt8](answer))["status"]?.integer == Int64(status))
        }
    }
}
