import ReceiptBridgeBase
import Foundation
import Testing
import ReceiptBridgeCore

@Suite("Forwarded request bodies")
struct RequestReaderTests {
    static let bodies: [(what: String, body: String, receipt: String, password: String?)] = [
        ("a repeated receipt", #"{"receipt-data":"QQ==","receipt-data":"Qg=="}"#, "Qg==", nil),
        ("a key spelled with escapes", #"{"receipt-data":"QQ==","receipt\u002ddata":"Qg=="}"#, "Qg==", nil),
        ("the other way round", #"{"receipt\u002Ddata":"QQ==","receipt-data":"Qg=="}"#, "Qg==", nil),
        ("a repeated password", #"{"password":"a","receipt-data":"QQ==","p\u0061ssword":"b"}"#, "QQ==", "b"),
        ("a password that goes", #"{"password":"a","receipt-data":"QQ==","password":null}"#, "QQ==", nil),
        ("a byte order mark", "\u{FEFF}" + #"{"receipt-data":"QQ==","receipt-data":"Qg=="}"#, "Qg==", nil),
        ("an escaped receipt", #"{"receipt-data":"\u0051Q\u003d=","receipt-data":"Q\u0067=="}"#, "Qg==", nil),
        (
            "keys within keys", #"{"a":{"receipt-data":"QQ=="},"receipt-data":"Qg==","a":[{"password":"x"}]}"#, "Qg==",
            nil
        ),
        ("a key that ends in a zero byte", #"{"receipt-data":"Qg==","receipt-data\u0000":"QQ=="}"#, "Qg==", nil),
        (
            "a key with a quote in it", #"{"receipt-data":"Qg==","\",\"receipt-data\":\"QQ==\"":1,"x":1,"x":2}"#,
            "Qg==", nil
        ),
    ]

    // T14
    @Test("Other JSON readers read the same values from a forwarded body", arguments: bodies)
    func differential(what: String, body: String, receipt: String, password: String?) throws {
        let request = try VerifyReceiptRequest(body: Array(body.utf8))
        #expect(request.receiptText.reveal() == Array(receipt.utf8))
        for replacement in [nil, "ours"] {
            let forwarded = request.forwardedBody(password: replacement.map { SharedSecret($0) })
            let seen = try #require(try JSONSerialization.jsonObject(with: Data(forwarded)) as? [String: Any])
            #expect(seen["receipt-data"] as? String == receipt, "\(what)")
            #expect(seen["password"] as? String == replacement ?? password, "\(what)")
            // A reader that takes the first of two equal keys finds no second one.
            let decoded = try JSONDecoder().decode(Members.self, from: Data(forwarded))
            #expect(decoded.receipt == receipt && decoded.password == replacement ?? password, "\(what)")
        }
    }

    private struct Members: Decodable {
        let receipt: String
        let password: String?

        enum CodingKeys: String, CodingKey {
            case receipt = "receipt-data"
            case password
        }
    }
}
