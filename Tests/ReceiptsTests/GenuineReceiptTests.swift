import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeReceipts
import Testing
import ReceiptBridgeTestSupport

@Suite("Genuine receipts, if the corpus is available")
struct GenuineReceiptTests {
    struct Expected: Decodable, Sendable, CustomTestStringConvertible {
        let file: String
        let kind: String
        let verified: Bool
        let environment: String
        let environmentConflict: Bool?
        let bundleId: String
        let transactions: Int
        let transactionIds: [String]
        let originalTransactionIds: [String]

        var testDescription: String { file }

        var location: URL? {
            Corpus.folder?.appending(path: kind == "appReceipt" ? "app-receipts" : "transaction-receipts")
                .appending(path: file)
        }
    }

    static let expectations: [Expected] = {
        guard let folder = Corpus.folder, let lines = try? Data(contentsOf: folder.appending(path: "expected.jsonl"))
        else {
            print("no corpus next to the checkout: skipping the tests with genuine receipts")
            return []
        }
        return lines.split(separator: 0x0A).compactMap { try? JSONDecoder().decode(Expected.self, from: $0) }
    }()

    // T6, T16
    @Test("The decoder agrees with an independent decoder about each receipt", arguments: expectations)
    func agreesWithIndependentDecoder(expected: Expected) throws {
        let text = [UInt8](try Data(contentsOf: #require(expected.location)))
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
