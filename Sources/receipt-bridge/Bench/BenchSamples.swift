import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeSimulator

/// Sample receipts of typical sizes, signed with newly generated keys.
struct BenchSamples {
    let pki: TestPKI

    /// Returns an App Receipt with consecutive purchases of a sandbox subscription. Each period is five minutes long.
    func appReceipt(purchases count: Int) throws(CryptographyError) -> [UInt8] {
        let start: Int64 = 1_700_000_000
        let purchases = (0..<count).map { index in
            var purchase = AppReceiptPurchase(
                productId: "com.example.app.monthly", transactionId: "\(2_000_000_100_000_001 + index)",
                originalTransactionId: "2000000100000001",
                purchaseDate: Timestamp(seconds: start + Int64(index) * 300),
                originalPurchaseDate: Timestamp(seconds: start), productType: 3,
                expiresDate: Timestamp(seconds: start + Int64(index + 1) * 300))
            purchase.webOrderLineItemId = 2_000_000_050_000_001 + Int64(index)
            return purchase
        }
        let content = AppReceiptContent(
            environment: .sandbox, bundleId: "com.example.app",
            creationDate: Timestamp(seconds: start + Int64(count) * 300), purchases: purchases, opaqueSeed: 1)
        return Array(Base64.encode(try AppReceiptEncoder(signer: pki.receiptSigner).encode(content)).utf8)
    }

    /// Returns an iOS 6 style receipt with one renewal, signed as that version of transactionReceipts is.
    func transactionReceipt(version: UInt8) throws(CryptographyError) -> [UInt8] {
        let entries: [(String, String)] = [
            ("original-purchase-date-pst", "2015-11-17 08:34:41 America/Los_Angeles"),
            ("purchase-date-ms", "1447821281000"),
            ("unique-identifier", "0000000000000000000000000000000000000001"),
            ("original-transaction-id", "2000000100000001"), ("expires-date", "1448346881000"),
            ("transaction-id", "2000000100000002"), ("original-purchase-date-ms", "1447778081000"),
            ("web-order-line-item-id", "2000000050000001"), ("bvrs", "1"),
            ("unique-vendor-identifier", "00000000-0000-4000-8000-000000000001"),
            ("expires-date-formatted-pst", "2015-11-23 22:34:41 America/Los_Angeles"), ("item-id", "1234567891"),
            ("expires-date-formatted", "2015-11-24 06:34:41 Etc/GMT"), ("product-id", "com.example.app.yearly"),
            ("purchase-date", "2015-11-18 04:34:41 Etc/GMT"), ("bid", "com.example.app"),
            ("original-purchase-date", "2015-11-17 16:34:41 Etc/GMT"),
            ("purchase-date-pst", "2015-11-17 20:34:41 America/Los_Angeles"), ("quantity", "1"),
        ]
        let encoder = pki.transactionEncoder(version, .sandbox)
        return Array(Base64.encode(try encoder.encode(purchaseInfo: entries.map { .init($0.0, $0.1) })).utf8)
    }
}
