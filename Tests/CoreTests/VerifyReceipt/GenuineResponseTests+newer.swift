import ReceiptBridgeBase

/// Responses of which the submitted receipt is not known. They are compared with the response to their own
/// `latest_receipt`, which Apple signed for them: it has the current purchases, and the time of the request as its
/// creation date.
extension GenuineResponseTests {
    private static let creationDate = ["", "_ms", "_pst"].map { "receipt.receipt_creation_date\($0): different value" }
    private static let ofRecords = [
        "latest_receipt_info[].subscription_group_identifier: only Apple's", "pending_renewal_info: only Apple's (1)",
    ]
    /// The differences of responses of 2020 from which their author removed the bundle id.
    private static let ofEdited =
        creationDate + ["receipt.bundle_id: different value", "response: different order of keys"]

    private static func edited(_ name: String, _ differences: [String] = ofRecords, excludesOld: Bool = false) -> Pair {
        Pair(answer: name, excludesOldTransactions: excludesOld, differences: ofEdited + differences)
    }

    static let newer = [
        // One of its three rows was refunded.
        Pair(
            answer: "PAIRLATEST-prod-app-3iap-20181003-sha1-dabfc9-d7d6cb",
            differences: creationDate + [
                "pending_renewal_info: only Apple's (2)",
                // The order of 2018; newer production responses have the newest row first.
                "latest_receipt_info[]: different order of rows",
            ]),
        // The app finished the consumable before Apple signed the newer receipt.
        edited("bought_consumable", ofRecords + ["receipt.in_app[]: 1 only Apple's"]),
        edited("bought_non_consumable"),
        // Its author left one row in each list.
        edited(
            "consumable_in_latest",
            [
                "latest_receipt_info[]: 7 only ours", "pending_renewal_info: only Apple's (1)",
                "receipt.in_app[]: 7 only ours",
            ]),
        // Apple's newer receipt has the three newest rows only.
        edited("exclude_old", ofRecords + ["receipt.in_app[]: 13 only Apple's"], excludesOld: true),
        // Its author left neither purchases nor a receipt; that of another response with the same time is used.
        Pair(
            answer: "-simple", receipt: "app-receipts/sandbox-testing-8iap-20201113-sha1-5022fc",
            differences: ofEdited + [
                "latest_receipt: different value", "latest_receipt_info: only ours", "receipt.in_app: only ours",
                "status: different value",
            ]),
        edited("first_time", ofRecords + ["receipt.in_app[]: 2 only ours"]),
        edited("multiple_subscription"),
        edited("subscription_renewed"),
        edited("second_time", ofRecords + ["receipt.in_app[]: 3 only ours"]),
        // Version 1 notifications: `unified_receipt`.
        Pair(
            answer: "v1-notification-cancel", now: Timestamp(seconds: 1_605_230_208),
            differences: ofRecords + [
                "receipt: only ours", "receipt_type: only Apple's", "response: different order of keys",
                "status: only ours",
            ]),
        Pair(
            answer: "v1-notification-im", receipt: "app-receipts/sandbox-fashion-54iap-20201125-sha1-76f2eb",
            now: Timestamp(seconds: 1_606_294_800),
            differences: ofRecords + [
                "environment: different value", "latest_receipt: different value",
                "latest_receipt_info[].is_upgraded: only Apple's", "latest_receipt_info[].product_id: different value",
                "latest_receipt_info[]: different order of keys", "latest_receipt_info[]: different order of rows",
                "receipt: only ours", "response: different order of keys",
            ]),
    ]
}
