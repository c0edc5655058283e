import Foundation
import GRDB
import Ledger
import Pipeline
import Simulator
import StoreTypes
import TestSupport
import Testing

@Suite("A notification of version 1")
struct NotificationHintTests {
    private static let secret: String = SimulatedApp.first.sharedSecret

    private func body(
        _ password: String?, _ further: KeyValuePairs<String, JSONValue?> = [:], receipt: String? = nil,
        bundleId: String = ScriptedAppStore.bundleId
    ) -> [UInt8] {
        var members: [JSONValue.Member] = [
            .init("notification_type", .string("DID_RENEW")), .init("environment", .string("PROD")),
            .init("bid", .string(bundleId)), .init("bvrs", .string("42")),
        ]
        if let password { members.append(.init("password", .string(password))) }
        if let receipt { members.append(.init("unified_receipt", .object(["latest_receipt": .string(receipt)]))) }
        for (name, value) in further { if let value { members.append(.init(name, value)) } }
        return JSONValue.object(members).bytes
    }

    @Test("counts only with the app's secret")
    func password() async throws {
        let bridge = try StoringBridge { $0.acceptedSecrets = [SharedSecret("former")] }
        #expect(await bridge.refusal(body("wrong")) == .wrongPassword)
        #expect(await bridge.refusal(body(nil)) == .wrongPassword)
        #expect(await bridge.refusal(body(Self.secret, bundleId: "com.example.other")) == .unknownApp)
        #expect(try await bridge.notifications() == 0)
        #expect(await bridge.refusal(body(Self.secret)) == nil)
        #expect(await bridge.refusal(body("former", ["bvrs": .string("43")])) == nil)
        #expect(try await bridge.notifications() == 2)
        let open = try StoringBridge { $0.sharedSecret = nil }
        #expect(await open.refusal(body("")) == .noSharedSecret)
        #expect(await open.refusal(body("anything")) == .noSharedSecret)
    }

    @Test("is stored without its password, however that is spelled")
    func redacted() async throws {
        let bridge = try StoringBridge()
        let spelled =
            #"{"notification_type":"CANCEL","bid":"com.example.app","pass\u0077ord":"\#(Self.secret)","password":"\#(Self.secret)"}"#
        #expect(await bridge.refusal(Array(spelled.utf8)) == nil)
        let texts = try await DatabasePool(path: bridge.store.path).read { db in
            try String.fetchAll(db, sql: "SELECT text FROM notification")
        }
        #expect(
            texts == [
                #"{"notification_type":"CANCEL","bid":"com.example.app","pass\u0077ord":"***","password":"***"}"#
            ])
    }

    @Test("counts each time, and makes the App Store be asked about whom its receipt is of once in a minute")
    func hint() async throws {
        let bridge = try StoringBridge()
        let receipt = try bridge.appStore.receipt()
        #expect(await bridge.learn(receipt))
        bridge.appStore.tell { world in
            world.clock = StandIn.noon.advanced(byMilliseconds: 2_000)
            world.change("700000000000500") { $0.revoked = StandIn.noon }
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
        // Something may have happened since: who asks gets it.
        bridge.appStore.tell { world in
            world.clock = StandIn.noon.advanced(byMilliseconds: 3_000)
            world.change("700000000000500") { $0.revoked = nil }
        }
        let asked = await bridge.ask(receipt)
        #expect(asked.source == .api && !asked.body.contains("cancellation_date"))
        #expect(bridge.appStore.questions.count == after + 2)
        // It is kept behind the answer.
        #expect(await bridge.learn(receipt))
        let afterwards = bridge.appStore.questions.count
        bridge.now = StandIn.noon.advanced(byMilliseconds: 60_000)
        #expect(await bridge.refusal(body(Self.secret, ["n": .string("later")], receipt: receipt)) == nil)
        #expect(await eventually { bridge.appStore.questions.count >= afterwards + 2 })
    }

    @Test(
        "names ids that nobody knows, or a receipt that is not authentic: then nobody is asked",
        arguments: ["700000000000999", "700000000000100"])
    func namedOnly(id: String) async throws {
        let bridge = try StoringBridge()
        let receipt = try bridge.appStore.receipt()
        #expect(await bridge.learn(receipt))
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
