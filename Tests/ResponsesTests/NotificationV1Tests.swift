import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import Foundation
import ReceiptBridgeResponses
import Testing

@Suite("Body of a version 1 notification")
struct NotificationV1Tests {
    private static let day: Int64 = 86_400_000
    private static let start = Timestamp(seconds: 1_700_000_000)

    /// - Parameter day: the start, in days after `start`.
    private func period(_ id: Int64, at day: Int64, for days: Int64 = 30) -> TransactionPayload {
        var row = TransactionPayload()
        (row.transactionId, row.originalTransactionId) = ("\(1_000 + id)", "1000")
        (row.productId, row.type) = ("monthly", "Auto-Renewable Subscription")
        row.purchaseDate = Self.start.advanced(by: .milliseconds(day * Self.day))
        row.expiresDate = Self.start.advanced(by: .milliseconds((day + days) * Self.day))
        return row
    }

    private func single(_ id: String, _ type: String, at day: Int64) -> TransactionPayload {
        var row = TransactionPayload()
        (row.transactionId, row.originalTransactionId, row.productId, row.type) = (id, id, "thing", type)
        row.purchaseDate = Self.start.advanced(by: .milliseconds(day * Self.day))
        return row
    }

    private func render(
        _ type: NotificationV1Type, _ transactions: [TransactionPayload], own: TransactionPayload? = nil,
        change: (inout NotificationV1) -> Void = { _ in }
    ) throws -> [String: Any] {
        var notification = NotificationV1(
            type: type, bundleId: "com.example.app", environment: .production, transactions: transactions)
        notification.transaction = own
        change(&notification)
        let body = NotificationV1Renderer(tables: .bundled).render(notification)
        return try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
    }

    private func ids(_ body: [String: Any]) throws -> [String] {
        let rows = try #require((body["unified_receipt"] as? [String: Any])?["latest_receipt_info"] as? [[String: Any]])
        return rows.compactMap { $0["transaction_id"] as? String }
    }

    @Test("The row that expires last is the first; rows without an expiry date follow, newest first")
    func order() throws {
        // An upgraded yearly plan is before monthly periods that were bought later.
        let rows = [
            period(1, at: 0), period(2, at: 40, for: 365), period(3, at: 50),
            single("5000", "Non-Consumable", at: 1), single("5001", "Non-Consumable", at: 9),
            single("6000", "Consumable", at: 20),
        ]
        #expect(try ids(try render(.didRenew, rows, own: rows[2])) == ["1002", "1003", "1001", "5001", "5000"])
        #expect(
            try ids(try render(.consumptionRequest, rows, own: rows[5]))
                == ["1002", "1003", "1001", "6000", "5001", "5000"])
    }

    @Test("The newest 100 rows are included, and always the row of the event")
    func hundred() throws {
        let rows = (0..<150).map { period($0, at: $0 * 30) }
        let newest = try ids(try render(.didRenew, rows.shuffled(), own: rows[149]))
        #expect(newest == (50..<150).reversed().map { "\(1_000 + $0)" })
        let refunded = try ids(try render(.cancel, rows, own: rows[3]))
        #expect(refunded == (51..<150).reversed().map { "\(1_000 + $0)" } + ["1003"])
    }

    @Test("The refund of a consumable is shown in its own row only")
    func consumable() throws {
        var rows = [single("6000", "Consumable", at: 1), single("6001", "Consumable", at: 2)]
        for index in rows.indices {
            rows[index].revocationDate = Self.start
            rows[index].revocationReason = 1
        }
        let body = try render(.refund, rows, own: rows[0])
        let unified = try #require(body["unified_receipt"] as? [String: Any])
        let row = try #require((unified["latest_receipt_info"] as? [[String: Any]])?.first)
        #expect(try ids(body) == ["6000"])
        #expect(
            row["cancellation_date_ms"] as? String == "1700000000000" && row["cancellation_reason"] as? String == "1")
        #expect(row["cancellation_date"] as? String == "2023-11-14 22:13:20 Etc/GMT")
        #expect(row["type"] == nil)
        #expect((unified["pending_renewal_info"] as? [Any])?.isEmpty == true && body["auto_renew_status"] == nil)
    }

    @Test("Values cannot end a string or a number early")
    func hostile() throws {
        var row = period(1, at: 0)
        let product = "a\",\"status\":0}\\\u{0}\u{1F}\n</script>\u{2028}é"
        row.productId = product
        row.originalTransactionId = "18446744073709551615"
        var renewal = RenewalPayload()
        (renewal.autoRenewProductId, renewal.autoRenewStatus) = (product, 1)
        renewal.originalTransactionId = row.originalTransactionId
        var notification = NotificationV1(
            type: .didRenew, bundleId: "com.\"example", environment: .sandbox, transactions: [row],
            renewals: [renewal])
        (notification.transaction, notification.renewal) = (row, renewal)
        (notification.password, notification.bundleVersion) = (SharedSecret("\"}{\\"), "\u{7}")
        let bytes = NotificationV1Renderer(tables: .bundled).render(notification)
        let body = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        #expect(body["auto_renew_product_id"] as? String == product && body["password"] as? String == "\"}{\\")
        #expect(body["bid"] as? String == "com.\"example" && body["bvrs"] as? String == "\u{7}")
        #expect(body["environment"] as? String == "Sandbox" && body["status"] == nil)
        #expect(String(decoding: bytes, as: UTF8.self).contains("\"original_transaction_id\":18446744073709551615,"))
        for identifier in ["1}", "-1", "", "0", "1e5", "99999999999999999999999"] {
            row.originalTransactionId = identifier
            notification.transaction = row
            let text = String(decoding: NotificationV1Renderer(tables: .bundled).render(notification), as: UTF8.self)
            let outer = text.prefix { $0 != "[" }
            #expect(!outer.contains("original_transaction_id"), "\(identifier)")
        }
    }
}
