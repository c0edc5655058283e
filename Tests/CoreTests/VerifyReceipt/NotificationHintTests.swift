import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import GRDB
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Version 1 notifications")
struct NotificationHintTests {
    private static let secret: String = SimulatedApp.first.sharedSecret

    private func body(
        _ password: String?, _ further: KeyValuePairs<String, JSONValue?> = [:], receipt: String? = nil,
        bundleId: String = ScriptedCustomer.bundleId, id: String? = "700000000000999"
    ) -> [UInt8] {
        var members: [JSONValue.Member] = [
            .init("notification_type", .string("DID_RENEW")), .init("environment", .string("PROD")),
            .init("bid", .string(bundleId)), .init("bvrs", .string("42")),
        ]
        if let id { members.append(.init("original_transaction_id", .string(id))) }
        if let password { members.append(.init("password", .string(password))) }
        if let receipt { members.append(.init("unified_receipt", .object(["latest_receipt": .string(receipt)]))) }
        for (name, value) in further { if let value { members.append(.init(name, value)) } }
        return JSONValue.object(members).bytes
    }

    @Test("A version 1 notification is stored only if its password is one of the app's secrets")
    func password() async throws {
        let bridge = try StoringTestProxy { $0.acceptedSecrets = [SharedSecret("former")] }
        #expect(await bridge.refusal(body("wrong")) == .wrongPassword)
        #expect(await bridge.refusal(body(nil)) == .wrongPassword)
        #expect(await bridge.refusal(body(Self.secret, bundleId: "com.example.other")) == .unknownApp)
        #expect(try await bridge.notifications() == 0)
        #expect(await bridge.refusal(body(Self.secret)) == nil)
        #expect(await bridge.refusal(body("former", ["bvrs": .string("43")])) == nil)
        #expect(try await bridge.notifications() == 2)
        let open = try StoringTestProxy { $0.sharedSecret = nil }
        #expect(await open.refusal(body("")) == .noSharedSecret)
        #expect(await open.refusal(body("anything")) == .noSharedSecret)
    }

    /// PostgreSQL cannot store U+0000, and the sender would repeat the notification for days.
    @Test(
        "A version 1 notification whose type is not the name of a type is stored without a type",
        arguments: [#""""#, #""A\u0000""#, #""A B""#, #""é""#, "7", "null"])
    func type(_ type: String) async throws {
        let bridge = try StoringTestProxy()
        let further = #""bid":"\#(ScriptedCustomer.bundleId)","original_transaction_id":"700000000000999""#
        let body = Array(#"{"notification_type":\#(type),"password":"\#(Self.secret)",\#(further)}"#.utf8)
        #expect(await bridge.refusal(body) == nil)
        #expect(try await storedRows(bridge).map(\.type) == [nil])
    }

    private struct StoredRow: Equatable {
        var uuid: String
        var type: String?
        var text: String
        var original: String?
    }

    private func storedRows(_ bridge: StoringTestProxy) async throws -> [StoredRow] {
        try await DatabaseQueue(path: bridge.store.path).read { db in
            try Row.fetchAll(
                db,
                sql: "SELECT uuid, type, text, originalTransactionId FROM notification WHERE version = 1 ORDER BY id"
            ).map { StoredRow(uuid: $0[0], type: $0[1], text: $0[2], original: $0[3]) }
        }
    }

    @Test("A version 1 notification is stored as type, ids and the digest of its body with masked passwords")
    func stored() async throws {
        let bridge = try StoringTestProxy { $0.acceptedSecrets = [SharedSecret("former")] }
        func body(_ first: String, _ second: String) -> [UInt8] {
            Array(
                #"{"notification_type":"CANCEL","bid":"com.example.app","pass\u0077ord":"\#(first)","password":"\#(second)","unified_receipt":{"latest_receipt":"AAAA","latest_receipt_info":[{"transaction_id":"700000000000998"},{"original_transaction_id":"700000000000997","transaction_id":"1"}],"pending_renewal_info":[{"original_transaction_id":"700000000000996"}]}}"#
                    .utf8)
        }
        #expect(try await bridge.receive(body(Self.secret, Self.secret)) == .stored(isNew: false))
        #expect(try await bridge.receive(body("former", "former")) == .repeated)
        #expect(try await bridge.receive(body("x", "former")) == .repeated)
        #expect(
            try await storedRows(bridge) == [
                StoredRow(
                    uuid: "sha256:c9d72d92735d4333015852759982fef3f26a571591bb8e98395034d9051e02e9",
                    type: "CANCEL", text: "700000000000998 700000000000997 700000000000996", original: nil)
            ])
    }

    // T29
    @Test("A version 1 notification without a transaction id and a receipt of the app is rejected and not stored")
    func nameless() async throws {
        let bridge = try StoringTestProxy()
        let receipt = try bridge.appStore.receipt()
        let mangled = String(receipt.dropLast(400)) + String(repeating: "A", count: 400)
        #expect(await bridge.refusal(body(Self.secret, id: nil)) == .noTransactionId)
        #expect(await bridge.refusal(body(Self.secret, receipt: mangled, id: nil)) == .noTransactionId)
        #expect(await bridge.refusal(body(Self.secret, id: "0")) == .noTransactionId)
        #expect(
            await bridge.refusal(body(Self.secret, ["latest_receipt_info": .string("x")], id: "y")) == .noTransactionId)
        #expect(try await bridge.notifications() == 0)
        let old = JSONValue.object(["transaction_id": .string("700000000000995")])
        #expect(await bridge.refusal(body(Self.secret, ["latest_receipt_info": old], id: nil)) == nil)
        // A receipt of a customer who is not in the store.
        #expect(await bridge.refusal(body(Self.secret, receipt: receipt, id: nil)) == nil)
        #expect(
            try await storedRows(bridge).map(\.text) == [
                "700000000000995", "700000000000100 700000000000500 700000000000101",
            ])
    }

    // T29
    @Test("A version 1 notification of 1 MiB is stored as a small row, without its receipt")
    func small() async throws {
        let bridge = try StoringTestProxy()
        let receipt = String(repeating: "QUJD", count: 250_000)
        let count = TestSize.pick(debug: 3, release: 12)
        for number in 0..<count {
            let body = body(Self.secret, ["n": .number(Int64(number))], receipt: receipt)
            #expect(await bridge.refusal(body) == nil)
        }
        #expect(try await bridge.notifications() == count)
        await bridge.store.close()
        let file = try bridge.folder.read("bridge.sqlite")
        let empty = try StoringTestProxy()
        await empty.store.close()
        let before = try empty.folder.read("bridge.sqlite").count
        #expect(file.count - before <= 65_536, "\(file.count) bytes; \(before) without them")
        let text = String(decoding: file, as: UTF8.self)
        #expect(!text.contains("latest_receipt") && !text.contains("QUJDQUJD"))
    }

    @Test("Each version 1 notification invalidates the customer's records, and causes at most one lookup a minute")
    func hint() async throws {
        let (bridge, receipt) = try await StoringTestProxy.withRecords()
        bridge.appStore.update { world in
            world.clock = SharedSimulator.noon.advanced(by: .seconds(2))
            world.change("700000000000500") { $0.revoked = SharedSimulator.noon }
        }
        let before = bridge.appStore.questions.count
        #expect(await bridge.refusal(body(Self.secret, receipt: receipt)) == nil)
        #expect(await eventually { bridge.appStore.questions.count == before + 2 })
        #expect(
            await eventually {
                let reply = await bridge.ask(receipt)
                return reply.source == .stored && reply.body.contains("cancellation_date")
            })
        let after = bridge.appStore.questions.count
        for number in 0..<5 {
            let again = body(Self.secret, ["n": .number(Int64(number))], receipt: receipt)
            #expect(await bridge.refusal(again) == nil)
        }
        try await Task.sleep(for: .milliseconds(50))
        #expect(bridge.appStore.questions.count == after)
        // The invalidated records may be out of date, so the next request does a lookup.
        bridge.appStore.update { world in
            world.clock = SharedSimulator.noon.advanced(by: .seconds(3))
            world.change("700000000000500") { $0.revoked = nil }
        }
        let reply = await bridge.ask(receipt)
        #expect(reply.source == .api && !reply.body.contains("cancellation_date"))
        #expect(bridge.appStore.questions.count == after + 2)
        // The result is stored after the response is sent.
        #expect(await bridge.waitUntilStored(receipt))
        let afterwards = bridge.appStore.questions.count
        bridge.now = SharedSimulator.noon.advanced(by: .minutes(1))
        #expect(await bridge.refusal(body(Self.secret, ["n": .string("later")], receipt: receipt)) == nil)
        #expect(await eventually { bridge.appStore.questions.count >= afterwards + 2 })
    }

    @Test(
        "A version 1 notification causes a lookup for a stored customer, and none for an unknown id",
        arguments: ["700000000000999", "700000000000100"])
    func namedOnly(id: String) async throws {
        let (bridge, receipt) = try await StoringTestProxy.withRecords()
        let before = bridge.appStore.questions.count
        let number = try #require(Int64(id))
        let mangled = String(receipt.dropLast(400)) + String(repeating: "A", count: 400)
        let hint = body(Self.secret, ["original_transaction_id": .number(number)], receipt: mangled)
        #expect(await bridge.refusal(hint) == nil)
        if id == "700000000000100" {
            #expect(await eventually { bridge.appStore.questions.count >= before + 2 })
        } else {
            try await Task.sleep(for: .milliseconds(50))
            #expect(bridge.appStore.questions.count == before)
        }
    }
}
