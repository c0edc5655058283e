import ReceiptBridgeBase
import Foundation
import ReceiptBridgeLibrary
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Calls of the library for other languages")
struct LibraryCallTests {
    private func options(_ more: String = "") throws -> String {
        let pki = try SharedSimulator.pki
        let certificates = (pki.roots + pki.intermediates).map { #""\#(Data($0.certificate).base64EncodedString())""# }
        return #"{"certificates":[\#(certificates.joined(separator: ","))]\#(more)}"#
    }

    private func result(_ value: String, _ options: String? = nil) throws -> JSONObject {
        try JSONObject(LibraryCall.result(of: Array(value.utf8), options: options.map { Array($0.utf8) }))
    }

    @Test("A receipt of either style has its ids and its purchases")
    func receipts() throws {
        let options = try options()
        for receipt in try SharedSimulator.world.receipts {
            let result = try result(receipt.base64, options)
            #expect(try result.text("kind") == receipt.plan.style && result.text("failure") == nil)
            let purchases = try #require(result.rawElements("purchases")).map { try JSONObject($0) }
            let ids = try purchases.map { try $0.text("originalTransactionId") }
            #expect(Set(ids) == Set(receipt.originalTransactionIds))
            #expect(result.has("receipt") && !result.has("payload"))
            let outcome = purchases.isEmpty ? "noTransactions" : "decoded"
            #expect(try result.text("outcome") == outcome)
        }
    }

    @Test("Nothing of a receipt that is not authentic is a purchase; its ids are there")
    func untrusted() throws {
        let receipt = try SharedSimulator.receipt(.activeSubscription)
        let result = try result(receipt.base64)
        #expect(try result.text("outcome") == "refused" && result.text("reason") == "untrustedChain")
        #expect(result.rawElements("purchases")?.isEmpty == true && !result.has("receipt"))
        #expect(try result.texts("originalTransactionIds") == receipt.originalTransactionIds.sorted())
    }

    @Test("A signed transaction is its own purchase")
    func signedTransaction() throws {
        let transaction = try #require(SharedSimulator.world.world.customers.flatMap(\.transactions).first)
        let row = transaction.row(.sandbox, signedDate: SharedSimulator.noon, bundleId: SimulatedApp.first.bundleId)
        let result = try result(try SharedSimulator.pki.jwsSigner.jws(payload: row), try options())
        #expect(try result.text("kind") == "jws" && result.text("outcome") == "decoded")
        #expect(result.rawElements("purchases") == [try #require(result.rawJSON("payload"))])
    }

    @Test("Without purchases only the columns of a migration are written")
    func columns() throws {
        let receipt = try SharedSimulator.receipt(.activeSubscription)
        let result = try result(receipt.base64, try options(#","purchases":false"#))
        #expect(try result.text("outcome") == "decoded")
        #expect(!result.has("purchases") && !result.has("nested"))
    }

    @Test(
        "Ids beside a value are not verified, and name the reason if there is no receipt",
        arguments: [
            ("", #"["70","71"]"#, "needsAllowUnverified", ["70", "71"]), ("", "null", "empty", []),
            ("", #""72""#, "needsAllowUnverified", ["72"]), ("nothing", "73", "needsAllowUnverified", ["73"]),
        ])
    func beside(value: String, ids: String, reason: String, found: [String]) throws {
        let result = try result(value, #"{"transactionIds":\#(ids)}"#)
        #expect(try result.text("reason") == reason && result.texts("unverifiedIds") == found)
    }

    @Test(
        "Options that cannot be used are named",
        arguments: [
            ("[]", "the options are not a JSON object"), (#"{"root":1}"#, "an unknown option"),
            (#"{"certificates":7}"#, "certificates: not an array"), (#"{"purchases":1}"#, "purchases: neither"),
            (#"{"certificates":[7]}"#, "certificates: an element is not a text"),
            (#"{"certificates":["*"]}"#, "certificates: a certificate is not base64"),
            (#"{"certificates":["MIIA"]}"#, "certificates: "),
        ])
    func badOptions(options: String, reason: String) throws {
        let error = try #require(try result("", options).object("error"))
        #expect(try error.text("code") == "badOptions" && error.text("reason")?.hasPrefix(reason) == true)
    }
}
