import Foundation
import ReceiptBridgeResponses
import Testing
import ReceiptBridgeTestSupport

private let converter = DocumentConverter(tables: .bundled)

private func camel(_ json: String) throws -> String { text(try converter.camelCase(Array(json.utf8))) }
private func snake(_ json: String) throws -> String { text(try converter.snakeCase(Array(json.utf8))) }

private func first(_ key: String, _ json: String) -> String? {
    json.range(of: "\"\(key)\":[").flatMap { JSONReader.object("x", in: "\"x\":" + json[$0.upperBound...]) }
        .map { String($0.dropFirst().dropLast()) }
}

@Suite("Conversion of a response to camelCase")
struct ServerAPIDocumentTests {
    static let rows = tableRows(
        #"""
        "quantity":"2" → "quantity":2
        "quantity":2 → "quantity":2
        "transaction_id":9223372036854775807 → "transactionId":"9223372036854775807"
        "transaction_id":9223372036854775808 → "transactionId":"9223372036854775808"
        "transaction-id":"7" → "transactionId":"7"
        "purchase_date_ms":"1691999446123" → "purchaseDate":1691999446123
        "purchase_date_ms":1691999446123 → "purchaseDate":1691999446123
        "purchase_date":"2023-08-14 07:50:46 Etc/GMT" → "purchaseDate":1691999446000
        "purchase_date":"2012-02-29 23:59:59 Etc/GMT" → "purchaseDate":1330559999000
        "purchase_date":"2001-01-01 00:00:00 Etc/GMT","purchase_date_ms":"1691999446123" → "purchaseDate":1691999446123
        "is_trial_period":"false","is_in_intro_offer_period":"false" → nothing
        "is_trial_period":"true" → "offerType":1,"offerDiscountType":"FREE_TRIAL"
        "is_trial_period":true → "offerType":1,"offerDiscountType":"FREE_TRIAL"
        "is_in_intro_offer_period":"true" → "offerType":1
        "is_trial_period":"true","is_in_intro_offer_period":"true" → "offerType":1,"offerDiscountType":"FREE_TRIAL"
        "promotional_offer_id":"summer" → "offerType":2,"offerIdentifier":"summer"
        "is_trial_period":"true","promotional_offer_id":"summer" → "offerType":2,"offerIdentifier":"summer","offerDiscountType":"FREE_TRIAL"
        "offer_code_ref_name":"fair" → "offerType":3,"offerIdentifier":"fair"
        "is_trial_period":"true","offer_code_ref_name":"fair" → "offerType":3,"offerIdentifier":"fair","offerDiscountType":"FREE_TRIAL"
        "cancellation_date_ms":"1000","cancellation_reason":"1" → "revocationDate":1000,"revocationReason":1
        "is_upgraded":"true" → "isUpgraded":true
        "is_upgraded":"true","cancellation_date_ms":"1000","cancellation_reason":"0" → "isUpgraded":true
        "app_account_token":"ABCDEF00-0000-4000-8000-00000000000A" → "appAccountToken":"abcdef00-0000-4000-8000-00000000000a"
        "expires_date_ms":"5000" → "expiresDate":5000,"type":"Auto-Renewable Subscription"
        "web_order_line_item_id":null,"cancellation_date_ms":"" → nothing
        "nobody_knows":"x" → nothing
        """#)

    @Test("A transaction of a type that is not known is converted by its expiry date")
    func unknownType() throws {
        func history(_ type: String, _ expiry: String) throws -> String {
            try snake(
                """
                {"environment":"Production","transactions":[{"transactionId":"1","originalTransactionId":"1",\
                "productId":"month","type":\(type),"purchaseDate":1000\(expiry)}]}
                """)
        }
        for expiry in [#","expiresDate":5000"#, ""] {
            let expected = try history("null", expiry)
            #expect(expected.contains(#""expires_date_ms":"5000""#) != expiry.isEmpty)
            #expect(expected.contains("latest_receipt_info") != expiry.isEmpty)
            for type in [#""Subscription Bundle""#, #""auto-renewable subscription""#, #""""#] {
                #expect(try history(type, expiry) == expected)
            }
        }
    }

    /// Texts that are numbers in a receipt.
    private static let numbers: Set<TransactionField> = [.key(.webOrderLineItemId)]

    @Test(
        "An unknown text or number of any property of a transaction is converted", arguments: TransactionField.allCases)
    func unknownValue(field: TransactionField) throws {
        let values = [ValueKind.text: [#""Something New""#, #""""#], .number: ["-1", "99"]][field.kind] ?? []
        guard !Self.numbers.contains(field) else { return }
        for value in values {
            let row = #"{"transactionId":"1","expiresDate":5000,"\#(field.rawValue)":\#(value)}"#
            #expect(try snake(#"{"transactions":[\#(row)]}"#).contains(#""expires_date_ms":"5000""#), "\(value)")
        }
    }

    @Test("Each row is converted", arguments: rows)
    func row(wire: String, expected: String) throws {
        // The last of several equal keys counts.
        let flags = #""is_trial_period":"false","is_in_intro_offer_period":"false""#
        let document = try camel(#"{"status":0,"latest_receipt_info":[{\#(flags),\#(wire)}]}"#)
        #expect(first("latestTransactions", document) == expected)
    }

    @Test(
        "The rows of in_app are written next to the receipt, with the properties that the receipt has for all of them")
    func appReceipt() throws {
        let answer = """
            {"environment":"Sandbox","status":0,"receipt":{"receipt_type":"ProductionSandbox","adam_id":0,\
            "app_item_id":0,"bundle_id":"com.example.reader","download_id":null,"in_app":[{"transaction_id":"5",\
            "web_order_line_item_id":"0","in_app_ownership_type":"PURCHASED"}]},\
            "pending_renewal_info":[{"auto_renew_status":"0","is_in_billing_retry_period":"1",\
            "price_consent_status":"1","expiration_intent":"2"}]}
            """
        #expect(
            try camel(answer) == """
                {"status":0,"environment":"Sandbox","receipt":{"receiptType":"ProductionSandbox",\
                "bundleId":"com.example.reader"},"transactions":[{"transactionId":"5",\
                "inAppOwnershipType":"PURCHASED","bundleId":"com.example.reader","environment":"Sandbox",\
                "isTrialPeriod":null}],\
                "renewals":[{"expirationIntent":2,"isInBillingRetryPeriod":true,"autoRenewStatus":0,\
                "priceIncreaseStatus":1,"environment":"Sandbox"}]}
                """)
    }

    @Test("An iOS 6 response is converted with the renewal at its top level")
    func flat() throws {
        let answer = """
            {"status":21006,"auto_renew_status":0,"expiration_intent":"1","is_in_billing_retry_period":"0",\
            "auto_renew_product_id":"month","receipt":{"bid":"com.example.reader","transaction_id":"5",\
            "original_transaction_id":"4","product_id":"month","expires_date":"2000","app_item_id":"77"},\
            "latest_expired_receipt_info":{"bid":"com.example.reader","transaction_id":"6",\
            "original_transaction_id":"4","product_id":"month","expires_date":"3000","is_trial_period":"false"}}
            """
        #expect(
            try camel(answer) == """
                {"status":21006,"receipt":{"expiresDate":2000,"transactionId":"5","originalTransactionId":"4",\
                "productId":"month","bundleId":"com.example.reader","appAppleId":77},\
                "transactions":[{"originalTransactionId":"4","transactionId":"5","expiresDate":2000,\
                "productId":"month","bundleId":"com.example.reader","type":"Auto-Renewable Subscription"}],\
                "latestTransactions":[{"originalTransactionId":"4","transactionId":"6","expiresDate":3000,\
                "productId":"month","bundleId":"com.example.reader","type":"Auto-Renewable Subscription",\
                "isInIntroOfferPeriod":null}],\
                "renewals":[{"autoRenewProductId":"month","autoRenewStatus":0,"expirationIntent":1,\
                "isInBillingRetryPeriod":false,"originalTransactionId":"4","productId":"month"}]}
                """)
    }

    @Test("The refund of an iOS 6 subscription is kept in both objects and at the top level, in either direction")
    func flatRefund() throws {
        let refund =
            #""cancellation_date":"2023-08-14 07:50:46 Etc/GMT","cancellation_date_ms":"1691999446000","#
            + #""cancellation_date_pst":"2023-08-14 00:50:46 America/Los_Angeles""#
        let ids = #""transaction_id":"5","original_transaction_id":"4","product_id":"month""#
        let answer =
            #"{"status":21006,"receipt":{"# + refund + "," + ids + #","cancellation_reason":"0"},"#
            + #""latest_expired_receipt_info":{"original_transaction_id":"4","transaction_id":"5","#
            + #""product_id":"month","# + refund + #","cancellation_reason":"0"},"latest_expired_receipt":"YQ==","#
            + refund + #","cancellation_reason":"0"}"#
        let document = try camel(answer)
        #expect(document.split(separator: #""revocationReason":0"#).count == 5)
        #expect(document.contains(#""latestExpiredReceipt":"YQ==""#))
        #expect(try converter.ignoredKeys(in: Array(answer.utf8)) == [])
        let back = try JSONSerialization.jsonObject(with: Data(try snake(document).utf8)) as? NSDictionary
        #expect(back == (try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? NSDictionary))
    }

    static let spellings =
        [("\u{FEFF}\r\n{\"status\" : 0}\n", #"{"status":0}"#)]
        + tableRows(
            #"""
            {"status":21007,"status":0} → {"status":0}
            {"status":0,"\u0073tatus":21007} → {"status":21007}
            {"status":7,"status":null,"latest_receipt":"a","latest_receipt":"b"} → {"latestReceipt":"b"}
            // Keys that no table contains, with all types of values.
            {"status":0,"x":1e300,"y":-1E+400,"z":[12345678901234567890123456789012345678901]} → {"status":0}
            {"status":21104,"is_retryable":true} → {"status":21104,"isRetryable":true}
            {"status":21104,"is-retryable":1} → {"status":21104,"isRetryable":true}
            {"status":21010,"is_retryable":"0"} → {"status":21010,"isRetryable":false}
            {"status":21002,"exception":"java.lang.NullPointerException"} → {"status":21002,"exception":"java.lang.NullPointerException"}
            {"status":0,"receipt":{"preorder_date":"2023-08-14 07:50:46 Etc/GMT"}} → {"status":0,"receipt":{"preorderDate":1691999446000},"transactions":[]}
            {"status":2.1e4} → {"status":21000}
            {"status":21007.0} → {"status":21007}
            """#)

    @Test("The last of several equal keys counts, and numbers may be written in any form", arguments: spellings)
    func spelling(json: String, expected: String) throws { #expect(try camel(json) == expected) }

    static let unknownKeys: [(String, [String])] = [
        (#"{"status":0,"is-retryable":1,"new":null}"#, []),
        (#"{"status":0,"new":1,"a\u001b[1m":2}"#, ["a??1m", "new"]),
        (
            #"{"receipt":{"bundle_id":"a","preorder_date_pst":"x","new":1,"in_app":[{"new":1},{"new":2,"quantity":1}]}}"#,
            ["receipt.in_app.new", "receipt.new"]
        ),
        (
            #"{"latest_receipt_info":[{"new":1,"expires_date_pst":"x"}],"pending_renewal_info":[{"other":1}]}"#,
            ["latest_receipt_info.new", "pending_renewal_info.other"]
        ),
        (
            #"{"receipt":{"bid":"a","bvrs":"1","expires_date_formatted":"x","new":1},"latest_receipt_info":{"new":2}}"#,
            ["latest_receipt_info.new", "receipt.new"]
        ),
    ]

    @Test("The keys that no table contains can be listed", arguments: unknownKeys)
    func ignoredKeys(json: String, keys: [String]) throws {
        #expect(try converter.ignoredKeys(in: Array(json.utf8)) == keys)
    }

    static let faults =
        ["", String(repeating: "[", count: 100_000)].map { (json: String) in (json, "malformed: not a JSON object") }
        + tableRows(
            #"""
            {"status":0,"x":01} → malformed: not a JSON object
            {"status":0,"x":"\ud800"} → malformed: not a JSON object
            {"status":1e300} → badValue: status: expected a whole number of 64 bits
            {"status":1.5} → badValue: status: expected a whole number of 64 bits
            [1] → malformed: not a JSON object
            {"status":0,"receipt":7} → badValue: receipt: expected an object
            {"status":0,"receipt":{"in_app":7}} → badValue: receipt.in_app: expected an array of objects
            {"receipt":{"in_app":[{},7]}} → badValue: receipt.in_app[1]: expected an object
            {"receipt":{"in_app":[{"quantity":"many"}]}} → badValue: receipt.in_app[0].quantity: expected a whole number of 64 bits
            {"latest_receipt_info":[{"purchase_date":"yesterday"}]} → badValue: latest_receipt_info[0].purchase_date: expected a date
            {"latest_receipt_info":[{"is_upgraded":"perhaps"}]} → badValue: latest_receipt_info[0].is_upgraded: expected true or false
            {"latest_receipt_info":[{"quantity":1.5}]} → badValue: latest_receipt_info[0].quantity: expected a whole number of 64 bits
            {"latest_receipt_info":[{"product_id":{}}]} → badValue: latest_receipt_info[0].product_id: expected a string
            """#)

    @Test("A malformed response is rejected with code, place and reason", arguments: Named.list(faults) { $0.0 })
    func fault(row: Named<(String, String)>) {
        let (json, description) = row.value
        let error = #expect(throws: ConversionError.self) { try camel(json) }
        #expect(error.map { "\($0.code): \($0.description)" } == description)
    }

    @Test("A document that is not a response or is too large is rejected", arguments: [true, false])
    func bounds(isSnake: Bool) {
        for (json, code) in [
            ("{}", ConversionError.Code.notADocument), (#"{"environment":"Production"}"#, .notADocument),
            (String(repeating: " ", count: DocumentConverter.maximumSize + 1), .tooLarge),
        ] {
            let error = #expect(throws: ConversionError.self) { isSnake ? try snake(json) : try camel(json) }
            #expect(error?.code == code)
        }
    }
}

@Suite("Conversion of a camelCase document to a response")
struct SnakeDocumentTests {
    /// Members of a row, and the members after the conversion. A row without a quantity gets none.
    static let rows =
        [
            (
                #""expiresDate":0"#,
                """
                "expires_date":"1970-01-01 00:00:00 Etc/GMT","expires_date_ms":"0",\
                "expires_date_pst":"1969-12-31 16:00:00 America/Los_Angeles","is_trial_period":"false",\
                "is_in_intro_offer_period":"false"
                """
            )
        ]
        + tableRows(
            #"""
            "type":"Non-Consumable" → "is_trial_period":"false"
            "offerType":1,"offerDiscountType":"FREE_TRIAL" → "is_trial_period":"true"
            "offerType":1,"price":0 → "is_trial_period":"true"
            "type":"Auto-Renewable Subscription","offerType":1,"offerDiscountType":"PAY_UP_FRONT" → "is_trial_period":"false","is_in_intro_offer_period":"true"
            "type":"Auto-Renewable Subscription","offerType":1 → "is_trial_period":"false","is_in_intro_offer_period":"true"
            "offerType":2,"offerIdentifier":"summer" → "is_trial_period":"false","promotional_offer_id":"summer"
            "offerType":2,"offerIdentifier":"summer","offerDiscountType":"FREE_TRIAL" → "is_trial_period":"true","promotional_offer_id":"summer"
            "offerType":3,"offerIdentifier":"fair" → "is_trial_period":"false","offer_code_ref_name":"fair"
            "offerType":4,"offerIdentifier":"back","offerDiscountType":"FREE_TRIAL" → "is_trial_period":"true"
            "promotionalOfferId":"summer","isTrialPeriod":true → "is_trial_period":"true","promotional_offer_id":"summer"
            "isUpgraded":true → "is_trial_period":"false","is_upgraded":"true"
            "isUpgraded":false → "is_trial_period":"false"
            "revocationReason":1 → "is_trial_period":"false"
            "type":"Consumable","revocationDate":1000,"revocationReason":1 → "is_trial_period":"false"
            "transactionId":9223372036854775807 → "transaction_id":"9223372036854775807","is_trial_period":"false"
            """#)

    @Test("Each row is converted", arguments: rows)
    func row(model: String, expected: String) throws {
        let answer = try snake(#"{"latestTransactions":[{\#(model)}]}"#)
        #expect(first("latest_receipt_info", answer) == expected)
    }

    @Test(
        "A document that already has the requested style is rejected",
        arguments: [
            #"{"status":0,"receipt":{"bundle_id":"a","in_app":[]},"latest_receipt_info":[]}"#,
            #"{"status":0,"latest_receipt":"MIIT"}"#, #"{"status":21006,"receipt":{"bid":"a","bvrs":"1"}}"#,
        ])
    func direction(answer: String) throws {
        let wrong = #expect(throws: ConversionError.self) { try snake(answer) }
        #expect(wrong?.description == "this is already a verifyReceipt response; use --to camel to convert it")
        let document = try camel(answer)
        let back = #expect(throws: ConversionError.self) { try camel(document) }
        #expect(back?.code == .wrongDirection)
        #expect(back?.description == "this is already a camelCase document; use --to snake to convert it")
        #expect(try snake(document).hasPrefix(#"{"status":"#))
    }

    @Test("The keys that verifyReceipt does not have can be listed")
    func ignoredKeys() throws {
        func keys(_ json: String) throws -> [String] { try converter.ignoredKeys(inCamelCase: Array(json.utf8)) }
        #expect(
            try keys(
                """
                {"receipt":{"bundleId":"a","new":1},"transactions":[{"transactionId":"1","isUpgraded":true}],\
                "latestTransactions":[{"transactionId":"1","price":5,"offerType":2,"storefront":null}],\
                "renewals":[{"productId":"a","renewalPrice":5}],"source":"api"}
                """) == [
                    "latestTransactions.price", "receipt.new", "renewals.renewalPrice", "source",
                    "transactions.isUpgraded",
                ])
        #expect(
            try keys(
                #"{"environment":"Sandbox","bundleId":"a","transactions":[{"isUpgraded":true,"price":5}],"renewals":[]}"#
            )
                == ["transactions.price"])
    }

    /// Rows of old responses, in which keys are missing that later responses have.
    static let oldRows = [
        #"{"product_id":"p","transaction_id":"1","is_trial_period":"false"}"#,
        #"{"product_id":"p","transaction_id":"1"}"#,
        // An auto-renewable subscription of 2015, and one in an iOS 6 response.
        oldPeriod + #","is_trial_period":"false"}"#, oldPeriod + #","is_trial_period":"true"}"#, oldPeriod + "}",
        oldPeriod + #","is_trial_period":"false","is_in_intro_offer_period":"false"}"#,
    ]

    private static let oldPeriod =
        #"{"product_id":"p","transaction_id":"1","expires_date":"1970-01-01 00:00:05 Etc/GMT","#
        + #""expires_date_ms":"5000","expires_date_pst":"1969-12-31 16:00:05 America/Los_Angeles""#

    @Test(
        "Keys that an old response did not have are not added: no quantity, no zero, no null, no offer flag",
        arguments: oldRows)
    func oldAnswer(row: String) throws {
        let old =
            #"{"status":0,"environment":"Production","receipt":{"bundle_id":"a","application_version":"1","in_app":["#
            + #"\#(row)]},"latest_receipt_info":[\#(row)]}"#
        #expect(try snake(camel(old)) == old)
    }

    @Test("An iOS 6 response gets the renewal of its own subscription from a view of all subscriptions")
    func renewalOfItsOwn() throws {
        func view(_ ids: [String]) -> String {
            let subscriptions = ids.map {
                #"{"originalTransactionId":"\#($0)","status":1,"#
                    + #""renewalInfo":{"originalTransactionId":"\#($0)","autoRenewProductId":"month\#($0)","autoRenewStatus":1}}"#
            }
            return #"{"receipt":{"transactionId":"5","originalTransactionId":"4","productId":"month4"},"#
                + #""subscriptions":[\#(subscriptions.joined(separator: ","))],"transactions":[]}"#
        }
        #expect(try snake(view(["3", "4"])).contains(#""auto_renew_product_id":"month4""#))
        #expect(try !snake(view(["3"])).contains("auto_renew"))
    }

    @Test("A history in the form of the App Store Server API is converted")
    func history() throws {
        let document = """
            {"environment":"Sandbox","bundleId":"com.example.reader","transactions":[\
            {"transactionId":"9","purchaseDate":2000,"expiresDate":9000,"type":"Auto-Renewable Subscription",\
            "webOrderLineItemId":"90","inAppOwnershipType":"FAMILY_SHARED"},\
            {"transactionId":"8","purchaseDate":1000,"type":"Consumable"}],\
            "renewals":[{"productId":"month","autoRenewStatus":1,"isInBillingRetryPeriod":false}]}
            """
        let answer = try snake(document)
        #expect(
            answer.hasPrefix(
                """
                {"status":0,"environment":"Sandbox","receipt":{"receipt_type":"ProductionSandbox","adam_id":0,\
                "app_item_id":0,"bundle_id":"com.example.reader","download_id":null,\
                "version_external_identifier":0,"in_app":[{"quantity":"1","transaction_id":"9",
                """))
        #expect(answer.contains(#""web_order_line_item_id":"90""#) && !answer.contains(#""transaction_id":"8""#))
        #expect(first("latest_receipt_info", answer)?.contains(#""in_app_ownership_type":"FAMILY_SHARED""#) == true)
        #expect(
            answer.hasSuffix(
                #""pending_renewal_info":[{"auto_renew_product_id":"month","product_id":"month","auto_renew_status":"1"}]}"#
            ))
    }

    static let faults = tableRows(
        #"""
        nothing → malformed: not a JSON object
        {"status":0,"environment":"Xcode"} → noSuchEnvironment: environment: verifyReceipt only has the environments Production and Sandbox
        {"transactions":[{"webOrderLineItemId":"abc"}]} → badValue: transactions[0].webOrderLineItemId: expected a whole number of 64 bits
        {"status":"fine"} → badValue: status: expected a whole number of 64 bits
        {"transactions":7} → badValue: transactions: expected an array of objects
        {"transactions":[{"purchaseDate":"noon"}]} → badValue: transactions[0].purchaseDate: expected a number of milliseconds
        {"renewals":[{},{"autoRenewStatus":"on"}]} → badValue: renewals[1].autoRenewStatus: expected a whole number of 64 bits
        {"receipt":{"appAppleId":"x"}} → badValue: receipt.appAppleId: expected a whole number of 64 bits
        """#)

    @Test("A malformed document is rejected with code, place and reason", arguments: faults)
    func fault(json: String, description: String) {
        let error = #expect(throws: ConversionError.self) { try snake(json) }
        #expect(error.map { "\($0.code): \($0.description)" } == description)
    }
}
