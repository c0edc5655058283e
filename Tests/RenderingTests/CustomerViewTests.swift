import AppStore
import ReceiptDecoding
import Rendering
import StoreTypes
import Testing

@Suite("The view of a customer")
struct CustomerViewTests {
    private func transaction(
        _ id: String, at milliseconds: Int64, token: String? = nil, claims: String? = nil
    ) -> Signed<TransactionPayload> {
        var payload = TransactionPayload()
        payload.transactionId = id
        payload.purchaseDate = Timestamp(milliseconds: milliseconds)
        payload.appAccountToken = token
        payload.claims = Array((claims ?? #"{"transactionId":"\#(id)"}"#).utf8)
        return Signed(payload: payload, text: "jws-\(id)")
    }

    private func render(
        _ transactions: [Signed<TransactionPayload>], _ subscriptions: [SubscriptionRecord] = [],
        appAppleId: Int64? = 5, configured: Int64? = 7
    ) throws -> String {
        let bundleId = try #require(BundleIdentifier(rawValue: "com.example.reader"))
        let records = CustomerRecords(
            environment: .production, bundleId: "com.example.reader", appAppleId: appAppleId,
            transactions: transactions, subscriptions: subscriptions, revision: nil)
        return text(
            CustomerViewRenderer(tables: .bundled).render(
                CustomerView(
                    bundleId: bundleId, records: records, configuredAppAppleId: configured, verifiedAt: summer)))
    }

    @Test("ascends by purchase date and number, and takes the account token from the first that has one")
    func order() throws {
        let view = try render([
            transaction("1000", at: 2, token: "late"), transaction("99", at: 2), transaction("7", at: 1),
            transaction("100", at: 2, token: "first"),
        ])
        #expect(
            view == #"{"bundleId":"com.example.reader","appAppleId":5,"environment":"Production","source":"api","#
                + #""appAccountToken":"first","receipt":null,"subscriptions":[],"transactions":["#
                + #"{"transactionId":"7"},{"transactionId":"99"},{"transactionId":"100"},{"transactionId":"1000"}],"#
                + #""signedTransactions":["jws-7","jws-99","jws-100","jws-1000"],"verifiedAt":1691999446123}"#)
    }

    @Test("keeps claims as they were signed, and leaves out what nobody says")
    func claims() throws {
        let claims = #"{ "transactionId" : "1","new":{"a":[1.50,null]} }"#
        var latest = TransactionPayload()
        latest.productId = "month"
        latest.expiresDate = Timestamp(milliseconds: 9)
        var renewal = RenewalPayload()
        renewal.claims = Array(#"{"autoRenewStatus":1,"new":true}"#.utf8)
        let view = try render(
            [transaction("1", at: 1, claims: claims)],
            [
                SubscriptionRecord(
                    subscriptionGroupIdentifier: "20", originalTransactionId: "1", status: 3,
                    transaction: Signed(payload: latest, text: "t"), renewal: Signed(payload: renewal, text: "r")),
                SubscriptionRecord(
                    subscriptionGroupIdentifier: nil, originalTransactionId: "2", status: 5, transaction: nil,
                    renewal: nil),
            ], appAppleId: nil, configured: nil)
        #expect(
            view == #"{"bundleId":"com.example.reader","environment":"Production","source":"api","receipt":null,"#
                + #""subscriptions":[{"subscriptionGroupIdentifier":"20","originalTransactionId":"1","status":3,"#
                + #""productId":"month","expiresDate":9,"renewalInfo":{"autoRenewStatus":1,"new":true}},"#
                + #"{"originalTransactionId":"2","status":5}],"transactions":[\#(claims)],"#
                + #""signedTransactions":["jws-1"],"verifiedAt":1691999446123}"#)
    }
}
