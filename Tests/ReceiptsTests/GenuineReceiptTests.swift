import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeReceipts
import Testing
import ReceiptBridgeTestSupport

@Suite("Genuine receipts, if the corpus is available")
struct GenuineReceiptTests {
    // T6, T16
    @Test("The decoder agrees with an independent decoder about each receipt", arguments: GenuineReceipt.all)
    func agreesWithIndependentDecoder(expected: GenuineReceipt) throws {
        let text = try expected.bytes
        let decoder = ReceiptDecoder(trust: try TrustStore(anchors: .apple()), profile: .tolerant)
        let inspection = decoder.inspect(text.span)
        #expect(inspection.kind.rawValue == expected.kind)
        #expect(inspection.isVerified == expected.verified, "\(inspection.failure as Any)")
        let contents = try #require(inspection.contents)
        #expect(contents.environment?.rawValue == expected.environment)
        #expect(contents.bundleId == expected.bundleId)
        #expect(contents.lookupKeys.transactionIds.map(\.rawValue) == expected.transactionIds.sorted())
        #expect(contents.lookupKeys.originalTransactionIds.map(\.rawValue) == expected.originalTransactionIds.sorted())
        switch contents {
        case .app(let receipt): #expect(receipt.purchases.count == expected.transactions)
        case .transaction(let receipt): #expect(receipt.environmentConflict == expected.environmentConflict)
        }
    }
}
