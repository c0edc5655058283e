import ReceiptBridgeBase
import ReceiptBridgeResponses
import Testing

@Suite("Reading a verifyReceipt response")
struct ResponseDocumentTests {
    private func response(_ json: String) throws -> ResponseDocument { try ResponseDocument(Array(json.utf8)) }

    @Test("The rows of an App Receipt's response are the purchases of the receipt, then the latest ones")
    func rows() throws {
        let response = try response(
            #"""
            {"status":0,"environment":"Sandbox","receipt":{"bundle_id":"com.example.reader","in_app":[
            {"transaction_id":"1","original_transaction_id":"1"},
            {"transaction_id":"2","original_transaction_id":"1","cancellation_date_ms":"5","cancellation_reason":"1"}]},
            "latest_receipt_info":[{"transaction_id":"3","original_transaction_id":"1","expires_date_ms":"1700",
            "web_order_line_item_id":"9"}],
            "pending_renewal_info":[{"original_transaction_id":"1","auto_renew_status":"0",
            "is_in_billing_retry_period":"1","grace_period_expires_date_ms":"1800"}]}
            """#)
        #expect(response.bundleId == "com.example.reader" && response.environment == "Sandbox")
        let purchases = response.purchases
        #expect(purchases.map(\.transactionId) == ["1", "2", "3"])
        #expect(purchases.map(\.isLatest) == [false, false, true] && purchases.allSatisfy { !$0.isFlat })
        #expect(purchases[2].expires == Timestamp(milliseconds: 1_700) && purchases[2].webOrderLineItemId == "9")
        #expect(purchases[1].revocation?.date == Timestamp(milliseconds: 5) && purchases[1].revocation?.reason == 1)
        #expect(response.revocationStates.map(\.transactionId) == ["2", "3"])
        let renewal = try #require(response.renewals["1"])
        #expect(renewal.isOn == false && renewal.isRetrying && renewal.graceEnds == Timestamp(milliseconds: 1_800))
        #expect(response.lookupKeys.transactionIds.map(\.rawValue) == ["1", "2", "3"])
        #expect(response.lookupKeys.originalTransactionIds.map(\.rawValue) == ["1"])
    }

    @Test("In the flat response to an iOS 6 receipt, the receipt and the latest object are one purchase each")
    func flat() throws {
        let response = try response(
            #"""
            {"status":21006,"auto_renew_status":1,"receipt":{"bid":"com.example.reader","transaction_id":"1",
            "original_transaction_id":"1","expires_date":"1600","cancellation_date_ms":"1500"},
            "latest_expired_receipt_info":{"transaction-id":"2","original_transaction_id":"1","expires_date":1700}}
            """#)
        #expect(response.bundleId == "com.example.reader" && response.environment == nil)
        #expect(response.isFlat)
        #expect(response.purchases.map(\.transactionId) == ["1", "2"] && response.purchases.allSatisfy(\.isFlat))
        #expect(response.purchases.map(\.expires?.milliseconds) == [1_600, 1_700])
        #expect(response.revocationStates.map(\.revocation?.date.milliseconds) == [1_500, nil])
        #expect(response.renewals["1"]?.isOn == true)
    }

    @Test("A purchase that an upgrade replaced is not revoked, and an unreadable cancellation says nothing")
    func revocations() throws {
        let states = try response(
            #"""
            {"latest_receipt_info":[{"transaction_id":"1","cancellation_date_ms":"5","is_upgraded":"true"},
            {"transaction_id":"2","cancellation_date":"soon"},{"transaction_id":"3"},
            {"transaction_id":"4","cancellation_date_ms":"soon"},{"transaction_id":"5","cancellation_date":{}},
            {"transaction_id":"6","cancellation_date_ms":99999999999999999999}]}
            """#
        ).revocationStates
        #expect(states.map(\.transactionId) == ["1", "3"] && states.allSatisfy { $0.revocation == nil })
    }

    /// Members of a row that say the same in what Apple writes and in what other programs made of it.
    static let dates = [
        #""expires_date_ms":"5000""#, #""expires_date_ms":5000"#, #""expires_date_ms":5000.0"#,
        #""expires_date":"1970-01-01 00:00:05 Etc/GMT""#, #""expires_date":"5000""#,
        #""expires_date_pst":"1969-12-31 16:00:05 America/Los_Angeles""#,
        #""expires_date":"1970-01-01 00:00:07 Etc/GMT","expires_date_ms":"5000""#,
        #""expires_date_ms":"","expires_date":"1970-01-01 00:00:05 Etc/GMT""#,
        #""expires_date_ms":"soon","expires_date_formatted":"1970-01-01 00:00:05 Etc/GMT""#,
    ]

    @Test("A date is read from the most exact of its keys, for the archive as for a conversion", arguments: dates)
    func date(members: String) throws {
        let answer = #"{"status":0,"latest_receipt_info":[{"transaction_id":"1",\#(members)}]}"#
        #expect(try response(answer).purchases.map(\.expires) == [Timestamp(milliseconds: 5_000)])
        let document = try DocumentConverter(tables: .bundled).camelCase(Array(answer.utf8))
        #expect(String(decoding: document, as: UTF8.self).contains(#""expiresDate":5000"#))
    }

    @Test("null and an empty text are no cancellation", arguments: ["null", #""""#])
    func noCancellation(spelling: String) throws {
        let row = #"{"transaction_id":"1","cancellation_date":\#(spelling),"cancellation_date_ms":\#(spelling)}"#
        let states = try response(#"{"latest_receipt_info":[\#(row)]}"#).revocationStates
        #expect(states.map(\.transactionId) == ["1"] && states.allSatisfy { !$0.isCancelled })
    }

    @Test("The last of repeated members counts, null is absent, and names with escapes are read")
    func members() throws {
        let root = try response(
            #"{"a":1,"a":"2","b":null,"\u0063":"x","d-e":"f","n":4990.0,"m":1.5e3,"t":"4990.0","o":{},"l":[null,{}]}"#
        ).root
        #expect(root["a"]?.integer == 2 && root["b"] == nil && root["c"]?.text == "x" && root["d_e"]?.text == "f")
        #expect(root["n"]?.integer == 4_990 && root["n"]?.text == "4990" && root["m"]?.integer == 1_500)
        #expect(root["t"]?.integer == nil && root["o"]?.object != nil && root["o"]?.elements == nil)
        #expect(root["l"]?.elements?.count == 2 && root.objects("l").count == 1 && root.objects("x").isEmpty)
    }

    @Test("A conversion reads flags from all spellings", arguments: ["true", "1", #""true""#, #""1""#])
    func flags(spelling: String) throws {
        let converter = DocumentConverter(tables: .bundled)
        let document = try converter.camelCase(Array(#"{"status":0,"is_retryable":\#(spelling)}"#.utf8))
        #expect(String(decoding: document, as: UTF8.self) == #"{"status":0,"isRetryable":true}"#)
        #expect(throws: ConversionError.self) {
            try converter.camelCase(Array(#"{"status":0,"is_retryable":"yes"}"#.utf8))
        }
    }

    @Test(
        "A body that is not one JSON object is rejected",
        arguments: ["", "[]", #"{"a":1} x"#, String(repeating: #"{"a":"#, count: 70)])
    func rejected(body: String) {
        #expect(throws: JSONStructureError.self) { try ResponseDocument(Array(body.utf8)) }
    }
}
