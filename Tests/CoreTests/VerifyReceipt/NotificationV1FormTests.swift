import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Forms of version 1 notifications")
struct NotificationV1FormTests {
    /// Replaces the placeholders of a form: the app's password, its bundle id, an authentic receipt of it and an id.
    private static func body(_ form: String, receipt: String = "AAAA") -> [UInt8] {
        let values: KeyValuePairs = [
            "PASSWORD": SimulatedApp.first.sharedSecret, "BUNDLE": ScriptedCustomer.bundleId,
            "NUMBER": "700000000000999", "RECEIPT": receipt,
        ]
        return Array(values.reduce(form) { $0.replacing($1.key, with: "\"\($1.value)\"") }.utf8)
    }

    /// The forms of 2018 to 2021, and members of foreign types. In each of them one thing differs from Apple's current
    /// form.
    private static let forms = Named.list([
        // April 2020: the bundle id and the receipt belong to the object of the expired period.
        #"{"environment":"Sandbox","notification_type":"DID_CHANGE_RENEWAL_STATUS","password":PASSWORD,"latest_expired_receipt":"x","latest_expired_receipt_info":{"bid":BUNDLE,"original_transaction_id":NUMBER},"unified_receipt":{"status":0,"latest_receipt":"x"}}"#,
        // 2018: the object of the current period, and a receipt beside it.
        #"{"environment":"PROD","notification_type":"RENEWAL","password":PASSWORD,"latest_receipt":"x","latest_receipt_info":{"bid":BUNDLE,"original_transaction_id":NUMBER},"auto_renew_status":"true"}"#,
        #"{"environment":"PROD","notification_type":"CANCEL","password":PASSWORD,"unified_receipt":{"latest_receipt_info":[{"original_transaction_id":NUMBER},{"bid":BUNDLE}]}}"#,
        #"{"environment":"PROD","notification_type":"CANCEL","password":PASSWORD,"unified_receipt":{"latest_receipt":RECEIPT}}"#,
        #"{"environment":"PROD","notification_type":"CANCEL","password":PASSWORD,"latest_expired_receipt":RECEIPT,"latest_receipt":"x"}"#,
        #"{"environment":"PROD","notification_type":"CANCEL","password":PASSWORD,"bid":7,"latest_receipt_info":[{"bid":BUNDLE,"transaction_id":NUMBER}]}"#,
        #"{"environment":"PROD","notification_type":"CANCEL","password":PASSWORD,"bid":BUNDLE,"unified_receipt":{"latest_receipt_info":{"transaction_id":NUMBER}}}"#,
        #"{"environment":"PROD","notification_type":"CANCEL","password":PASSWORD,"bid":BUNDLE,"unified_receipt":[{"pending_renewal_info":[{"original_transaction_id":NUMBER}]}]}"#,
        #"{"environment":"PROD","notification_type":"CANCEL","password":PASSWORD,"bid":BUNDLE,"unified_receipt":"x","original_transaction_id":700000000000999}"#,
        #"{"environment":"PROD","notification_type":"CANCEL","password":PASSWORD,"bid":BUNDLE,"unified_receipt":null,"original_transaction_id":7.00000000000999e14}"#,
        #"{"environment":"PROD","notification_type":"CANCEL","password":PASSWORD,"bid":BUNDLE,"original_transaction_id":{},"transaction_id":NUMBER}"#,
        #"{"environment":"PROD","notification_type":"CANCEL","password":PASSWORD,"bid":BUNDLE,"bvrs":3,"auto_renew_status":false,"auto_renew_product_id":[],"expiration_intent":{},"auto_renew_status_change_date_ms":1606293002000.5,"original_transaction_id":NUMBER}"#,
        #"{"environment":"PROD","notification_type":["CANCEL"],"password":PASSWORD,"bid":BUNDLE,"original_transaction_id":NUMBER}"#,
        #"{"environment":1,"notification_type":"CANCEL","password":PASSWORD,"bid":BUNDLE,"unified_receipt":{"environment":"Production","latest_receipt_info":[{"transaction_id":NUMBER}]}}"#,
        #"{"environment":"PROD","notification_type":"CANCEL","password":PASSWORD,"bid":BUNDLE,"latest_receipt":RECEIPT,"unified_receipt":{"latest_receipt":0,"latest_receipt_info":true}}"#,
        #"{"environment":"PROD","notification_type":"CANCEL","password":PASSWORD,"bid":BUNDLE,"unified_receipt":{"latest_receipt_info":[null,1,"x",[],{},{"transaction_id":NUMBER}],"pending_renewal_info":{"x":[]}}}"#,
        #"{"signedPayload":{},"environment":"PROD","notification_type":"CANCEL","password":PASSWORD,"bid":BUNDLE,"original_transaction_id":NUMBER}"#,
        #"{"environment":"none","password":PASSWORD,"latest_expired_receipt":[],"latest_receipt":RECEIPT,"bid":null,"deprecation":{}}"#,
    ])

    @Test(
        "A version 1 notification is taken in any form that names the app, if the password is right", arguments: forms)
    func taken(form: Named<String>) async throws {
        let bridge = try StoringTestProxy()
        let receipt = try bridge.appStore.receipt()
        #expect(await bridge.refusal(Self.body(form.value, receipt: receipt)) == nil)
        #expect(try await bridge.notifications() == 1)
        let wrong = String(decoding: Self.body(form.value, receipt: receipt), as: UTF8.self)
            .replacing(SimulatedApp.first.sharedSecret, with: "wrong")
        #expect(await bridge.refusal(Array(wrong.utf8)) == .wrongPassword)
        #expect(try await bridge.notifications() == 1)
    }

    @Test(
        "With the right password, an app or an environment that cannot be read is temporary, so that Apple repeats",
        arguments: [
            (
                #"{"notification_type":"CANCEL","password":PASSWORD,"original_transaction_id":NUMBER}"#,
                .unreadableNotification
            ),
            (#"{"password":PASSWORD,"bid":7,"latest_receipt":RECEIPT,"x":NUMBER}"#, .unreadableNotification),
            (#"{"environment":"X","password":PASSWORD,"bid":BUNDLE,"transaction_id":NUMBER}"#, .unreadableNotification),
            (#"{"environment":"PROD","password":PASSWORD,"bid":BUNDLE,"transaction_id":[NUMBER]}"#, .noTransactionId),
        ] as [(String, NotificationRejection.Code)])
    func unreadable(form: String, code: NotificationRejection.Code) async throws {
        let bridge = try StoringTestProxy()
        #expect(await bridge.refusal(Self.body(form)) == code)
        #expect(code.httpStatus == 503)
        let wrong = form.replacing("PASSWORD", with: "\"wrong\"")
        #expect(await bridge.refusal(Self.body(wrong)) == .wrongPassword)
        let missing = form.replacing("PASSWORD", with: "[PASSWORD]")
        #expect(await bridge.refusal(Self.body(missing)) == .wrongPassword)
        #expect(try await bridge.notifications() == 0)
    }

    @Test("Any JSON value in any member but the password changes only that member")
    func anyMember() async throws {
        let form = #"""
            {"environment":"PROD","notification_type":"CANCEL","password":PASSWORD,"bid":BUNDLE,"bvrs":"1",
            "auto_renew_status":"true","original_transaction_id":NUMBER,"latest_receipt":"x",
            "latest_receipt_info":{"bid":BUNDLE,"transaction_id":NUMBER},"latest_expired_receipt":"x",
            "unified_receipt":{"environment":"Production","status":0,"latest_receipt":"x",
            "latest_receipt_info":[{"transaction_id":NUMBER,"quantity":"1"}],
            "pending_renewal_info":[{"original_transaction_id":NUMBER,"auto_renew_status":"1"}]}}
            """#
        let bodies = try JSONValue(reading: Self.body(form)).replacingMembers(by: "ODD", except: "password")
        let values = ["null", "true", "0", "-1.5", "1e300", #""""#, "[]", "[null]", "[{}]", "{}", #"{"a":{"b":[1]}}"#]
        let bridge = try StoringTestProxy()
        for body in bodies {
            for value in values {
                let text = String(decoding: body.bytes, as: UTF8.self).replacing("\"ODD\"", with: value)
                #expect(await bridge.refusal(Array(text.utf8)) == nil, "\(text)")
            }
        }
        #expect(bodies.count == 21)
        #expect(try await bridge.notifications() == bodies.count * values.count)
    }

    /// The version 1 notifications of public repositories. Their authors changed bundle ids and passwords.
    private static let genuine = Corpus.files(in: "responses").filter { $0.lastPathComponent.hasPrefix("v1-") }

    @Test(
        "Genuine version 1 notifications are taken",
        .enabled(if: !genuine.isEmpty, "needs the corpus of genuine receipts next to the checkout"), arguments: genuine)
    func corpus(file: URL) async throws {
        let body = [UInt8](try Data(contentsOf: file))
        let notification = try JSONValue(reading: body)
        let bundleId = try #require(notification["bid"]?.text)
        let password = try #require(notification["password"]?.text)
        let bridge = try StoringTestProxy {
            $0.bundleId = BundleIdentifier(rawValue: bundleId)
            $0.sharedSecret = SharedSecret(password)
        }
        #expect(await bridge.refusal(body) == nil)
        #expect(try await bridge.notifications() == 1)
    }
}

extension JSONValue {
    /// Returns this value with one member at any depth replaced by a text, once for each member.
    fileprivate func replacingMembers(by text: String, except key: String) -> [JSONValue] {
        switch self {
        case .object(let members):
            members.indices.filter { members[$0].key != key }.flatMap { index in
                ([.string(text)] + members[index].value.replacingMembers(by: text, except: key)).map { value in
                    var changed = members
                    changed[index] = Member(members[index].key, value)
                    return .object(changed)
                }
            }
        case .array(let elements):
            elements.indices.flatMap { index in
                elements[index].replacingMembers(by: text, except: key).map { value in
                    var changed = elements
                    changed[index] = value
                    return .array(changed)
                }
            }
        default: []
        }
    }
}
