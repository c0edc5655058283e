import ReceiptBridgeReceipts
import ReceiptBridgeBase
import Foundation
import ReceiptBridgeResponses
import Testing

/// A purchase date, the type of the offer, and the flags of its row.
struct TrialCase: Sendable, CustomTestStringConvertible {
    let date: String
    let purchased: Timestamp
    let offerType: Int64
    let discount: String
    let flags: [String]

    var testDescription: String { "\(date), offer \(offerType), \(discount)" }

    static let all: [TrialCase] = [
        .init("2021-11-23", 1_637_625_600, ["true", "false"]),
        .init("2024-08-17", 1_723_852_800, ["true", "false"]),
        .init("2024-08-31T23:59:59", 1_725_148_799, ["true", "false"]),
        .init("2024-09-01", 1_725_148_800, ["true", "true"]),
        .init("2024-09-03", 1_725_321_600, ["true", "true"]),
        .init("2026-11-21", 1_795_262_400, ["true", "true"]),
        .init("2021-11-23", 1_637_625_600, ["false", "true"], 1, "PAY_AS_YOU_GO"),
        .init("2026-11-21", 1_795_262_400, ["false", "true"], 1, "PAY_AS_YOU_GO"),
        .init("2026-11-21", 1_795_262_400, ["false", "true"], 1, "PAY_UP_FRONT"),
        .init("2026-11-21", 1_795_262_400, ["true", "false"], 2, "FREE_TRIAL"),
        .init("2026-11-21", 1_795_262_400, ["true", "false"], 3, "FREE_TRIAL"),
        .init("2026-11-21", 1_795_262_400, ["true", "false"], 4, "FREE_TRIAL"),
    ]

    init(_ date: String, _ seconds: Int64, _ flags: [String], _ offerType: Int64 = 1, _ discount: String = "FREE_TRIAL")
    {
        self.date = date
        purchased = Timestamp(seconds: seconds)
        self.offerType = offerType
        self.discount = discount
        self.flags = flags
    }

    var transaction: TransactionPayload {
        ResponsesTests.transaction("500000000000002") {
            ($0.purchaseDate, $0.originalPurchaseDate) = (purchased, purchased)
            $0.expiresDate = purchased.advanced(by: .days(7))
            ($0.offerType, $0.offerDiscountType) = (offerType, discount)
            $0.offerIdentifier = offerType == 1 ? nil : "offer"
        }
    }

    func purchase(_ flags: [String]) -> InAppPurchase {
        var purchase = month("500000000000002")
        purchase.purchaseDate = purchased
        purchase.originalPurchaseDate = purchased
        purchase.expiresDate = purchased.advanced(by: .days(7))
        purchase.isTrialPeriod = flags[0] == "true" ? 1 : 0
        purchase.isInIntroOfferPeriod = flags[1] == "true" ? 1 : 0
        if offerType == 2 { purchase.promotionalOfferId = "offer" }
        return purchase
    }
}

private func answer(_ receipt: ReceiptContents, _ transaction: TransactionPayload) -> String {
    let history = PurchaseHistory(
        receipt: receipt, environment: .production, submittedText: Redacted(Array("MIIsubmitted==".utf8)),
        records: ResponsesTests.records([transaction], renewal: nil))
    return text(renderer.answer(history: history, requestDate: summer).body)
}

/// Returns both flags of the only row in a list.
private func flags(in array: String, of answer: String) throws -> [String] {
    try ["is_trial_period", "is_in_intro_offer_period"].flatMap { try values(of: $0, in: array, of: answer) }
}

@Suite("Flags of free trials, by purchase date")
struct TrialFlagTests {
    @Test(
        "The rows of one response agree, whether they come from the receipt or the Server API", arguments: TrialCase.all
    )
    func records(trial: TrialCase) throws {
        let own = answer(.app(appReceipt(purchases: [trial.purchase(trial.flags)])), trial.transaction)
        #expect(try flags(in: "in_app", of: own) == trial.flags)
        #expect(try flags(in: "latest_receipt_info", of: own) == trial.flags)
        // A signed transaction in place of a receipt.
        var receipt = appReceipt()
        receipt.add([trial.transaction])
        let signed = answer(.app(receipt), trial.transaction)
        #expect(try flags(in: "in_app", of: signed) == trial.flags)
        #expect(try flags(in: "latest_receipt_info", of: signed) == trial.flags)
    }

    @Test("A version 1 body and the latest object of an iOS 6 response have the same flags", arguments: TrialCase.all)
    func otherForms(trial: TrialCase) throws {
        let notification = NotificationV1(
            type: .initialBuy, bundleId: "com.example.reader", environment: .production,
            transactions: [trial.transaction])
        let body = text(NotificationV1Renderer(tables: .bundled).render(notification))
        let unified = try #require(JSONReader.object("unified_receipt", in: body))
        #expect(try flags(in: "latest_receipt_info", of: unified) == trial.flags)

        let receipt = purchaseInfo([
            "transaction-id": "500000000000002", "original-transaction-id": "500000000000002",
            "product-id": "com.example.reader.month", "expires-date": "\(trial.purchased.milliseconds + 604_800_000)",
            "is-trial-period": trial.flags[0], "is-in-intro-offer-period": trial.flags[1], "bid": "com.example.reader",
        ])
        let flat = answer(.transaction(receipt), trial.transaction)
        for object in ["receipt", "latest_receipt_info"] {
            let row = try #require(JSONReader.object(object, in: flat))
            #expect(row.contains(#""is_trial_period":"\#(trial.flags[0])""#), "\(row)")
            #expect(row.contains(#""is_in_intro_offer_period":"\#(trial.flags[1])""#), "\(row)")
        }
    }

    /// Dates of which no genuine trial is known, and a free offer of another type since then.
    static let unknown: [TrialCase] = [
        .init("2024-08-18", 1_723_939_200, ["true", "true"]),
        .init("2024-09-02T23:59:59", 1_725_321_599, ["true", "false"]),
        .init("2026-11-21", 1_795_262_400, ["true", "true"], 2, "FREE_TRIAL"),
    ]

    @Test("Where Apple's value is not known, the receipt decides about both rows of its purchase", arguments: unknown)
    func receiptDecides(trial: TrialCase) throws {
        let own = answer(.app(appReceipt(purchases: [trial.purchase(trial.flags)])), trial.transaction)
        #expect(try flags(in: "in_app", of: own) == trial.flags)
        #expect(try flags(in: "latest_receipt_info", of: own) == trial.flags)
        let receipt = purchaseInfo([
            "transaction-id": "500000000000002", "original-transaction-id": "500000000000002",
            "is-trial-period": "true", "is-in-intro-offer-period": trial.flags[1],
        ])
        let latest = JSONReader.object("latest_receipt_info", in: answer(.transaction(receipt), trial.transaction))
        #expect(latest?.contains(#""is_in_intro_offer_period":"\#(trial.flags[1])""#) == true)
    }
}

@Suite("Conversion of free trials and offer codes, and back")
struct OfferConversionTests {
    private let converter = DocumentConverter(tables: .bundled)

    private func camel(_ json: String) throws -> String { text(try converter.camelCase(Array(json.utf8))) }
    private func snake(_ json: String) throws -> String { text(try converter.snakeCase(Array(json.utf8))) }

    @Test("A decoded transaction gets the flags of its purchase date", arguments: TrialCase.all)
    func snakeCase(trial: TrialCase) throws {
        let identifier = trial.offerType == 1 ? "" : #","offerIdentifier":"offer""#
        let document = """
            {"environment":"Production","bundleId":"com.example.reader","transactions":[{"transactionId":"1",\
            "originalTransactionId":"1","purchaseDate":\(trial.purchased.milliseconds),\
            "expiresDate":\(trial.purchased.milliseconds + 604_800_000),"offerType":\(trial.offerType),\
            "offerDiscountType":"\(trial.discount)"\(identifier)}],"renewals":[]}
            """
        let answer = try snake(document)
        #expect(try flags(in: "in_app", of: answer) == trial.flags)
        #expect(try flags(in: "latest_receipt_info", of: answer) == trial.flags)
    }

    @Test("A trial with one flag or both is a free introductory offer, and comes back with its flags")
    func roundTrip() throws {
        for trial in TrialCase.all where trial.offerType == 1 && trial.discount == "FREE_TRIAL" {
            for flags in [["true", "false"], ["true", "true"]] {
                let answer = answer(.app(appReceipt(purchases: [trial.purchase(flags)])), at: summer)
                let document = try camel(answer)
                #expect(document.contains(#""offerType":1,"offerDiscountType":"FREE_TRIAL""#), "\(document)")
                // Only what the purchase date does not say is kept.
                #expect(document.contains("isInIntroOfferPeriod") == (flags != trial.flags), "\(trial) \(flags)")
                #expect(try snake(document) == answer)
            }
        }
    }

    private static let uuid = "2f1e0d9c-8b7a-4c5d-9e6f-0a1b2c3d4e5f"
    private static let noFlags = #""is_trial_period":"false","is_in_intro_offer_period":"false","#
    private static let period =
        #""expires_date":"1970-01-01 00:00:05 Etc/GMT","expires_date_ms":"5000","#
        + #""expires_date_pst":"1969-12-31 16:00:05 America/Los_Angeles","#

    /// The last members of a row, and after the conversion those of its offer, and whether the UUID or name is kept.
    static let offers: [(id: String?, code: String?, offer: String, isKept: Bool)] =
        [
            (uuid, "Fair", #","offerType":3,"offerIdentifier":"Fair""#, true),
            ("summer", "Fair", #","offerType":3,"offerIdentifier":"Fair""#, true),
            (nil, "Fair", #","offerType":3,"offerIdentifier":"Fair""#, false), (uuid, nil, #","offerType":3"#, true),
            (uuid.uppercased(), nil, #","offerType":3"#, true),
            ("summer", nil, #","offerType":2,"offerIdentifier":"summer""#, false),
        ]
        // A UUID of another version, what only looks like one, and digits of another script.
        + [
            "2f1e0d9c-8b7a-1c5d-9e6f-0a1b2c3d4e5f", "2f1e0d9c8b7a4c5d9e6f0a1b2c3d4e5f",
            "2f1e0d9c-8b7a-4c5d-9e6f-\u{FF10}\u{FF11}\u{FF12}\u{FF13}",
        ].map { (id: String) in (id, nil, #","offerType":2,"offerIdentifier":"\#(id)""#, false) }

    @Test("The name of an offer code decides about its type, and no key is lost", arguments: offers)
    func codes(id: String?, code: String?, offer: String, isKept: Bool) throws {
        let members = [("promotional_offer_id", id), ("offer_code_ref_name", code)]
        let keys = members.compactMap { key, value in value.map { #""\#(key)":"\#($0)""# } }.joined(separator: ",")
        let kept = isKept ? #","promotionalOfferId":"\#(id ?? "")""# : ""
        let answer =
            #"{"status":0,"latest_receipt_info":[{"transaction_id":"1",\#(Self.period)\#(Self.noFlags)\#(keys)}],"#
            + #""pending_renewal_info":[{"auto_renew_product_id":"month","product_id":"month","#
            + #""original_transaction_id":"1",\#(keys)}]}"#
        let document = try camel(answer)
        #expect(
            document == """
                {"status":0,"latestTransactions":[{"transactionId":"1","expiresDate":5000\(offer),\
                "type":"Auto-Renewable Subscription"\(kept)}],\
                "renewals":[{"autoRenewProductId":"month","productId":"month",\
                "originalTransactionId":"1"\(offer)\(kept)}]}
                """)
        #expect(try snake(document) == answer)
    }

    @Test("in_app keeps the UUID of an offer code; the row from the Server API has its name, and both come back")
    func codeInResponse() throws {
        var purchase = month("500000000000002")
        purchase.promotionalOfferId = Self.uuid
        var transaction = TrialCase.all[0].transaction
        (transaction.offerType, transaction.offerDiscountType) = (3, "PAY_UP_FRONT")
        transaction.offerIdentifier = "Fair"
        let own = answer(.app(appReceipt(purchases: [purchase])), transaction)
        #expect(try values(of: "promotional_offer_id", in: "in_app", of: own) == [Self.uuid])
        #expect(try values(of: "offer_code_ref_name", in: "in_app", of: own) == [])
        #expect(try values(of: "promotional_offer_id", in: "latest_receipt_info", of: own) == [])
        #expect(try values(of: "offer_code_ref_name", in: "latest_receipt_info", of: own) == ["Fair"])
        #expect(try snake(camel(own)) == own)
    }
}
