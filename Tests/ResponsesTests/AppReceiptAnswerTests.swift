import ReceiptBridgeBase
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import Testing

@Suite("Response to an App Receipt, from the receipt alone")
struct AppReceiptAnswerTests {
    /// The members of `receipt` for ``appReceipt()``, up to its purchases.
    private let beginning = """
        {"status":0,"environment":"Production","receipt":{"receipt_type":"Production",\
        "adam_id":1500000001,"app_item_id":1500000001,"bundle_id":"com.example.reader","application_version":"42",\
        "download_id":36066010076144,"version_external_identifier":860000001,\
        "receipt_creation_date":"2023-08-14 07:50:46 Etc/GMT","receipt_creation_date_ms":"1691999446000",\
        "receipt_creation_date_pst":"2023-08-14 00:50:46 America/Los_Angeles",\
        "request_date":"2023-08-14 07:50:46 Etc/GMT","request_date_ms":"1691999446123",\
        "request_date_pst":"2023-08-14 00:50:46 America/Los_Angeles",\
        "original_purchase_date":"2013-08-01 07:00:00 Etc/GMT","original_purchase_date_ms":"1375340400000",\
        "original_purchase_date_pst":"2013-08-01 00:00:00 America/Los_Angeles","original_application_version":"1.0",
        """

    @Test("A receipt without purchases has an empty in_app and no keys about subscriptions")
    func noPurchases() { #expect(answer(.app(appReceipt())) == beginning + #""in_app":[]}}"#) }

    @Test("A purchase that is not a subscription has no expiry date, no line item and no latest receipt")
    func nonConsumable() {
        let row = """
            {"quantity":"1","product_id":"com.example.reader.lifetime","transaction_id":"500000000000001",\
            "original_transaction_id":"500000000000001","purchase_date":"2023-01-06 10:13:20 Etc/GMT",\
            "purchase_date_ms":"1673000000000","purchase_date_pst":"2023-01-06 02:13:20 America/Los_Angeles",\
            "original_purchase_date":"2023-01-06 10:13:20 Etc/GMT","original_purchase_date_ms":"1673000000000",\
            "original_purchase_date_pst":"2023-01-06 02:13:20 America/Los_Angeles","is_trial_period":"false"}
            """
        #expect(answer(.app(appReceipt(purchases: [lifetime()]))) == beginning + #""in_app":["# + row + "]}}")
    }

    @Test("A subscription is in in_app and in latest_receipt_info, and the submitted receipt is returned")
    func autoRenewable() {
        var purchase = month("500000000000009")
        purchase.isTrialPeriod = 1
        purchase.promotionalOfferId = "spring"
        purchase.ownershipType = 1
        purchase.cancellationDate = Timestamp(milliseconds: 1_691_999_446_586)
        purchase.cancellationReason = 0
        let row = """
            {"quantity":"1","product_id":"com.example.reader.month","transaction_id":"500000000000009",\
            "original_transaction_id":"500000000000002","purchase_date":"2023-01-06 10:13:20 Etc/GMT",\
            "purchase_date_ms":"1673000000000","purchase_date_pst":"2023-01-06 02:13:20 America/Los_Angeles",\
            "original_purchase_date":"2023-01-06 10:13:20 Etc/GMT","original_purchase_date_ms":"1673000000000",\
            "original_purchase_date_pst":"2023-01-06 02:13:20 America/Los_Angeles",\
            "expires_date":"2023-02-05 10:13:20 Etc/GMT","expires_date_ms":"1675592000000",\
            "expires_date_pst":"2023-02-05 02:13:20 America/Los_Angeles",\
            "cancellation_date":"2023-08-14 07:50:46 Etc/GMT","cancellation_date_ms":"1691999446586",\
            "cancellation_date_pst":"2023-08-14 00:50:46 America/Los_Angeles",\
            "web_order_line_item_id":"500000000000777","is_trial_period":"true","is_in_intro_offer_period":"false",\
            "cancellation_reason":"0","promotional_offer_id":"spring","in_app_ownership_type":"FAMILY_SHARED"}
            """
        let expected =
            beginning + #""in_app":["# + row + #"]},"latest_receipt_info":["# + row
            + #"],"latest_receipt":"MIIsubmitted=="}"#
        #expect(answer(.app(appReceipt(purchases: [purchase]))) == expected)
    }

    @Test("in_app keeps the order of the receipt")
    func blobOrder() throws {
        let ids = ["500000000000030", "500000000000010", "500000000000020"]
        let json = answer(.app(appReceipt(purchases: [month(ids[0]), lifetime(ids[1]), month(ids[2], day: -3)])))
        #expect(try values(of: "transaction_id", in: "in_app", of: json) == ids)
    }

    @Test("Absent attributes have no keys, except that the app ids are 0 and download_id is null")
    func absentAttributes() {
        var receipt = AppReceipt()
        receipt.purchases = [InAppPurchase()]
        let expected = """
            {"status":0,"environment":"Sandbox","receipt":{"adam_id":0,"app_item_id":0,"download_id":null,\
            "version_external_identifier":0,"request_date":"2023-08-14 07:50:46 Etc/GMT",\
            "request_date_ms":"1691999446123","request_date_pst":"2023-08-14 00:50:46 America/Los_Angeles",\
            "in_app":[{}]}}
            """
        #expect(answer(.app(receipt), environment: .sandbox) == expected)
    }

    @Test("Numbers of the receipt keep all 64 bits")
    func largeNumbers() {
        var receipt = appReceipt()
        receipt.downloadId = 510_000_123_456_789_013
        receipt.appAppleId = .max
        let json = answer(.app(receipt))
        #expect(json.contains(#""download_id":510000123456789013,"#))
        #expect(json.contains(#""adam_id":9223372036854775807,"app_item_id":9223372036854775807,"#))
    }

    @Test("A date with milliseconds, as in macOS receipts of 2020, has them in _ms only")
    func milliseconds() {
        var receipt = appReceipt()
        receipt.originalPurchaseDate = Timestamp(milliseconds: 1_602_146_795_304)
        #expect(
            answer(.app(receipt)).contains(
                #""original_purchase_date":"2020-10-08 08:46:35 Etc/GMT","original_purchase_date_ms":"1602146795304","#)
        )
    }

    @Test("A volume purchase receipt has its expiration date before in_app")
    func volumePurchase() {
        var receipt = appReceipt()
        receipt.expirationDate = summer
        #expect(answer(.app(receipt)).contains(#""original_application_version":"1.0","expiration_date":"2023-08-14"#))
    }

    @Test("A refunded non-consumable has its date and reason, a refunded consumable and a reason alone have none")
    func cancellation() {
        for (type, isShown) in [(ReceiptProductType.consumable, false), (.nonConsumable, true), (.autoRenewable, true)]
        {
            var purchase = lifetime(type: type)
            purchase.cancellationReason = 1
            #expect(!answer(.app(appReceipt(purchases: [purchase]))).contains("cancellation"))
            purchase.cancellationDate = summer
            let json = answer(.app(appReceipt(purchases: [purchase])))
            #expect(json.contains(#""cancellation_date_ms":"1691999446123""#) == isShown)
            #expect(json.contains(#""cancellation_reason":"1""#) == isShown)
        }
    }

    @Test("A value of attribute 1722 without a known name gives no key")
    func unknownOwnership() {
        var purchase = lifetime()
        purchase.ownershipType = 7
        #expect(!answer(.app(appReceipt(purchases: [purchase]))).contains("in_app_ownership_type"))
        purchase.ownershipType = 0
        #expect(answer(.app(appReceipt(purchases: [purchase]))).contains(#""in_app_ownership_type":"PURCHASED"}"#))
    }

    @Test("pending_renewal_info is absent, because no receipt contains it")
    func noPendingRenewalInfo() {
        #expect(!answer(.app(appReceipt(purchases: [month("500000000000009")]))).contains("pending_renewal_info"))
    }
}
