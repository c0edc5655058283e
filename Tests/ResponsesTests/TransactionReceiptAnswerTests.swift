import ReceiptBridgeBase
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import Testing

@Suite("Response to an iOS 6 receipt, from the receipt alone")
struct TransactionReceiptAnswerTests {
    private let renewable = purchaseInfo([
        "product-id": "com.example.reader.month", "expires-date": "1691999446123",
        "expires-date-formatted": "2023-08-14 07:50:46 Etc/GMT", "version-external-identifier": "860000001",
        "app-item-id": "1500000001", "unheard-of-key": "kept \"as\" it is",
    ])

    /// The members of `receipt` for ``renewable``.
    private let flat = """
        {"product_id":"com.example.reader.month","expires_date":"1691999446123",\
        "expires_date_formatted":"2023-08-14 07:50:46 Etc/GMT","version_external_identifier":"860000001",\
        "app_item_id":"1500000001","unheard_of_key":"kept \\"as\\" it is"}
        """

    /// The latest object for the same receipt, which has no version_external_identifier.
    private let latest = """
        {"product_id":"com.example.reader.month","expires_date":"1691999446123",\
        "expires_date_formatted":"2023-08-14 07:50:46 Etc/GMT",\
        "app_item_id":"1500000001","unheard_of_key":"kept \\"as\\" it is"}
        """

    @Test("A purchase that does not renew gives receipt and status only, in the order of the receipt")
    func nonRenewing() {
        let receipt = purchaseInfo([
            "original-purchase-date-pst": "2012-04-30 08:05:55 America/Los_Angeles",
            "original-transaction-id": "1000000046178817", "bvrs": "20120427", "quantity": "1",
            "purchase-date-ms": "1335798355868", "item-id": "521129812", "bid": "com.example.reader",
            "is-trial-period": "false", "version-external-identifier": "0",
        ])
        let expected = """
            {"status":0,"receipt":{"original_purchase_date_pst":"2012-04-30 08:05:55 America/Los_Angeles",\
            "original_transaction_id":"1000000046178817","bvrs":"20120427","quantity":"1",\
            "purchase_date_ms":"1335798355868","item_id":"521129812","bid":"com.example.reader",\
            "is_trial_period":"false","version_external_identifier":"0"}}
            """
        #expect(answer(.transaction(receipt), environment: .sandbox) == expected)
    }

    @Test("A current period gives status 0 with the latest object and the submitted receipt")
    func active() {
        let now = Timestamp(milliseconds: 1_691_999_446_122)
        let expected =
            #"{"status":0,"receipt":"# + flat + #","latest_receipt_info":"# + latest
            + #","latest_receipt":"MIIsubmitted=="}"#
        #expect(answer(.transaction(renewable), at: now) == expected)
    }

    @Test("An expired period gives 21006 with the latest expired object and no latest receipt")
    func expired() {
        let expected = #"{"status":21006,"receipt":"# + flat + #","latest_expired_receipt_info":"# + latest + "}"
        #expect(answer(.transaction(renewable), at: summer) == expected)
        let history = PurchaseHistory(
            receipt: .transaction(renewable), environment: .production, submittedText: Redacted([0x78]))
        #expect(renderer.receiptAnswer(history: history, requestDate: summer).status == .subscriptionExpired)
    }

    @Test("A subscription that purchase-info shows as canceled has expired")
    func cancelled() {
        var receipt = renewable
        receipt.purchaseInfo.append(.init(key: "cancellation-date-ms", value: "1691000000000"))
        let json = answer(.transaction(receipt), at: Timestamp(seconds: 1_600_000_000))
        #expect(json.hasPrefix(#"{"status":21006,"#))
        #expect(json.contains(#""cancellation_date_ms":"1691000000000"}"#))
    }

    @Test("A refund that was recorded later is shown in both objects and at the top level, with its reason")
    func refunded() {
        var revocations = RevocationIndex()
        revocations.insert(
            .init(date: Timestamp(seconds: 1_691_000_000), reason: 0), transactionId: "7", webOrderLineItemId: nil)
        var receipt = renewable
        receipt.purchaseInfo.append(.init(key: "transaction-id", value: "7"))
        let history = PurchaseHistory(
            receipt: .transaction(receipt), environment: .production, submittedText: nil, revocations: revocations)
        let json = text(renderer.receiptAnswer(history: history, requestDate: Timestamp(seconds: 0)).body)
        let row =
            #""transaction_id":"7","cancellation_date":"2023-08-02 18:13:20 Etc/GMT","#
            + #""cancellation_date_ms":"1691000000000","cancellation_date_pst":"2023-08-02 11:13:20 America/Los_Angeles","#
            + #""cancellation_reason":"0"}"#
        #expect(json.hasPrefix(#"{"status":21006,"#) && json.split(separator: row).count == 3)
        #expect(json.hasSuffix(row + #","cancellation_date":"2023-08-02 18:13:20 Etc/GMT","cancellation_reason":"0"}"#))
    }

    @Test("Values that the receipt does not contain are absent")
    func unknown() {
        for now in [summer, Timestamp(seconds: 0)] {
            let json = answer(.transaction(renewable), at: now)
            for key in ["auto_renew", "pending_renewal_info", "request_date", "environment", "in_app"] {
                #expect(!json.contains(key))
            }
        }
    }
}
