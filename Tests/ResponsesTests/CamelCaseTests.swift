import ReceiptBridgeBase
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import Testing

@Suite("camelCase")
struct CamelCaseTests {
    private let camelCase = CamelCaseRenderer(tables: .bundled)

    private func receipt(_ contents: ReceiptContents) -> String {
        written { camelCase.writeReceipt(contents, into: &$0) }
    }

    private func transactions(_ contents: ReceiptContents) -> String {
        written { camelCase.writeTransactions(of: contents, into: &$0) }
    }

    @Test("An App Receipt has all properties: dates in milliseconds, bytes in base64, unknown attributes by number")
    func appReceiptObject() {
        var contents = appReceipt(purchases: [lifetime()])
        contents.downloadId = 510_000_123_456_789_013
        contents.opaqueValue = [1, 2, 3]
        contents.sha1Hash = [255]
        contents.deviceReceiptDate = summer
        contents.ageRating = "4+"
        contents.clientSystemVersion = 130_300
        contents.platform = 3
        contents.unknownAttributes = [
            UnknownAttribute(type: 9, value: [2, 1, 5]), UnknownAttribute(type: 7, value: [0]),
            UnknownAttribute(type: 9, value: [2, 1, 6]),
        ]
        let expected = """
            {"receiptType":"Production","appAppleId":1500000001,"bundleId":"com.example.reader",\
            "applicationVersion":"42","downloadId":510000123456789013,"versionExternalIdentifier":860000001,\
            "receiptCreationDate":1691999446000,"originalPurchaseDate":1375340400000,\
            "originalApplicationVersion":"1.0","opaqueValue":"AQID","sha1Hash":"/w==",\
            "deviceReceiptDate":1691999446123,"ageRating":"4+","clientSystemVersion":130300,"platform":3,\
            "unknownAttributes":{"7":"AA==","9":["AgEF","AgEG"]}}
            """
        #expect(receipt(.app(contents)) == expected)
    }

    @Test("Transactions have the names of the App Store Server API")
    func appReceiptTransactions() {
        var purchase = month("500000000000009")
        purchase.isInIntroOfferPeriod = 1
        purchase.promotionalOfferId = "spring"
        purchase.ownershipType = 1
        purchase.cancellationDate = summer
        purchase.productAppleId = 1_600_000_011
        purchase.unknownAttributes = [UnknownAttribute(type: 1724, value: [12, 0])]
        let expected = """
            [{"quantity":1,"productId":"com.example.reader.month","transactionId":"500000000000009",\
            "originalTransactionId":"500000000000002","purchaseDate":1673000000000,\
            "originalPurchaseDate":1673000000000,"expiresDate":1675592000000,"revocationDate":1691999446123,\
            "webOrderLineItemId":"500000000000777","isTrialPeriod":false,"isInIntroOfferPeriod":true,\
            "promotionalOfferId":"spring","inAppOwnershipType":"FAMILY_SHARED",\
            "type":"Auto-Renewable Subscription","productAppleId":1600000011,"unknownAttributes":{"1724":"DAA="}}]
            """
        #expect(transactions(.app(appReceipt(purchases: [purchase]))) == expected)
    }

    @Test(
        "Attribute 1707 is written with the names of the App Store Server API",
        arguments: [
            (0, "Non-Consumable"), (1, "Consumable"), (2, "Non-Renewing Subscription"),
            (3, "Auto-Renewable Subscription"), (4, "Free Subscription"), (77, "77"),
        ] as [(Int64, String)])
    func productTypes(rawValue: Int64, name: String) {
        let purchase = lifetime(type: ReceiptProductType(rawValue: rawValue))
        #expect(transactions(.app(appReceipt(purchases: [purchase]))).contains("\"type\":\"\(name)\""))
    }

    @Test("All lines of a transactionReceipt are written, including those outside the signature")
    func transactionReceipt() {
        var contents = purchaseInfo([
            "purchase-date-ms": "1643096854975", "purchase-date": "2022-01-25 07:47:34 Etc/GMT",
            "transaction-id": "1000000046178817", "original-transaction-id": "1000000046178816",
            "product-id": "month", "bid": "com.example.reader", "bvrs": "42", "quantity": "1",
            "expires-date": "1643128674000", "expires-date-formatted": "2022-01-25 16:37:54 Etc/GMT",
            "web-order-line-item-id": "1000000036022769", "is-trial-period": "true",
            "version-external-identifier": "not a number", "unheard-of-key": "1",
        ])
        contents.pod = "100"
        contents.signingStatus = "0"
        contents.claimedEnvironment = "Sandbox"
        let expected = """
            {"purchaseDate":1643096854975,"purchaseDateFormatted":"2022-01-25 07:47:34 Etc/GMT",\
            "transactionId":"1000000046178817","originalTransactionId":"1000000046178816","productId":"month",\
            "bundleId":"com.example.reader","applicationVersion":"42","quantity":1,"expiresDate":1643128674000,\
            "expiresDateFormatted":"2022-01-25 16:37:54 Etc/GMT","webOrderLineItemId":"1000000036022769",\
            "isTrialPeriod":true,"versionExternalIdentifier":"not a number","unheardOfKey":"1","pod":"100",\
            "signingStatus":"0","claimedEnvironment":"Sandbox"}
            """
        #expect(receipt(.transaction(contents)) == expected)
        let element = """
            [{"purchaseDate":1643096854975,"expiresDate":1643128674000,"transactionId":"1000000046178817",\
            "originalTransactionId":"1000000046178816","productId":"month","quantity":1,\
            "webOrderLineItemId":"1000000036022769","isTrialPeriod":true,"type":"Auto-Renewable Subscription"}]
            """
        #expect(transactions(.transaction(contents)) == element)
    }

    @Test("Empty receipts give valid JSON")
    func empty() {
        #expect(receipt(.app(AppReceipt())) == #"{"unknownAttributes":{}}"#)
        #expect(transactions(.app(AppReceipt())) == "[]")
        #expect(receipt(.transaction(purchaseInfo([:]))) == "{}")
        #expect(transactions(.transaction(purchaseInfo([:]))) == "[{}]")
    }
}
