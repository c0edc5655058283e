import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import ReceiptBridgeReceipts
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Decoding of stored texts")
struct DecodedReceiptTests {
    /// A reader that trusts the certificates of the simulator only.
    private func reader() throws -> ReceiptReader {
        let settings = ProxyConfiguration(trusting: try SharedSimulator.pki)
        return ReceiptReader(trust: try TrustStore(settings: settings), now: { SharedSimulator.noon })
    }

    @Test("A stored receipt of either style is decoded")
    func receipts() throws {
        let reader = try reader()
        for receipt in try SharedSimulator.world.receipts {
            let stored = reader.read(Array(receipt.base64.utf8))
            #expect(stored.isVerified && stored.kind.rawValue == receipt.plan.style, "\(receipt.id)")
            #expect(stored.environment == receipt.environment && stored.bundleId == SimulatedApp.first.bundleId)
            #expect(
                Set(stored.lookupKeys.originalTransactionIds.map(\.rawValue)) == Set(receipt.originalTransactionIds))
            #expect(stored.unsigned.isEmpty && stored.repairs.isEmpty && stored.date != nil)
            let decoded = try #require(ReceiptBridgeSimulator.Base64.decode(receipt.base64))
            #expect(stored.digest == SHA.hex(decoded, with: .sha256))
        }
    }

    @Test("A stored verifyReceipt response is decoded as its latest receipt, and its unsigned ids are reported")
    func answer() throws {
        let reader = try reader()
        let receipt = try SharedSimulator.receipt(.activeSubscription)
        let signedId = try #require(receipt.originalTransactionIds.first)
        let answer = """
            {"status":0,"receipt":{"in_app":[{"transaction_id":"77"},{"original_transaction_id":"\(signedId)"}]},
             "latest_receipt_info":[{"transaction_id":"0","original_transaction_id":"78"},{"transaction_id":5}],
             "pending_renewal_info":[{"original_transaction_id":"79"}],"latest_receipt":"\(receipt.base64)"}
            """
        let stored = reader.read(Array(answer.utf8))
        #expect(stored.isVerified && stored.repairs == [.answerWrapper])
        #expect(stored.lookupKeys.originalTransactionIds.map(\.rawValue).contains(signedId))
        #expect(Set(stored.unsigned.all.map(\.rawValue)) == ["5", "77", "78", "79", signedId])
        let without = reader.read(Array("{\"status\":0,\"receipt\":{\"transaction_id\":\"77\"}}".utf8))
        #expect(without.failure?.code == .notAReceipt && without.kind == .unknown && without.digest == nil)
        #expect(without.unsigned.all.map(\.rawValue) == ["77"])
    }

    @Test("A stored signed transaction is recognized, and has the identifiers to look its customer up")
    func signedTransaction() throws {
        let transaction = try #require(SharedSimulator.world.world.customers.flatMap(\.transactions).first)
        let row = transaction.row(.sandbox, signedDate: SharedSimulator.noon, bundleId: SimulatedApp.first.bundleId)
        let text = try SharedSimulator.pki.jwsSigner.jws(payload: row)
        let stored = try reader().read(Array(text.utf8))
        #expect(stored.isVerified && stored.kind == .jws && stored.environment == .sandbox)
        #expect(stored.lookupKeys.originalTransactionIds.map(\.rawValue) == [transaction.originalTransactionId])
        #expect(stored.lookupKeys.transactionIds.map(\.rawValue) == [transaction.transactionId])
        #expect(stored.date == SharedSimulator.noon && stored.digest == SHA.hex(Array(text.utf8), with: .sha256))
        let changed = String(text.dropLast(8)) + "AAAAAAAA"
        #expect(try reader().read(Array(changed.utf8)).failure?.code == .badSignature)
    }

    @Test("A handle of 0.1.0 is of no known kind, with a failure of its own, also inside a verifyReceipt response")
    func handle() throws {
        let handle = Base64.encode(Array("rb1.".utf8) + Array(repeating: 7, count: 90))
        for text in [handle, " \(handle)\n", "{\"status\":0,\"latest_receipt\":\"\(handle)\"}"] {
            let stored = try reader().read(Array(text.utf8))
            #expect(stored.kind == .unknown && stored.failure?.code == .bridgeHandle, "\(text.prefix(24))")
        }
    }

    @Test("A signed transaction is found in the object of a client library, and the ids around it are reported")
    func purchaseObject() throws {
        let transaction = try #require(SharedSimulator.world.world.customers.flatMap(\.transactions).first)
        let row = transaction.row(.sandbox, signedDate: SharedSimulator.noon, bundleId: SimulatedApp.first.bundleId)
        let jws = try SharedSimulator.pki.jwsSigner.jws(payload: row)
        let text =
            #"{"transactionId":"\#(transaction.transactionId)","id":{"transaction_id":8},"purchaseToken":"\#(jws)"}"#
        let stored = try reader().read(Array(text.utf8))
        #expect(stored.isVerified && stored.kind == .jws && stored.repairs == [.jsonMember])
        #expect(stored.lookupKeys.transactionIds.map(\.rawValue) == [transaction.transactionId])
        #expect(Set(stored.unsigned.all.map(\.rawValue)) == ["8", transaction.transactionId])
    }

    @Test("A text that is neither has a failure and no identifiers")
    func neither() throws {
        let reader = try reader()
        for text in ["", " ", "{", "{}", "null", "eyJ..", "eyJ.a.b", "AAAA", "\u{0}", "{\"latest_receipt\":7}"] {
            let stored = reader.read(Array(text.utf8))
            #expect(!stored.isVerified && stored.lookupKeys.isEmpty, "\(text)")
        }
    }

    @Test("A hostile text has the outcome that the simulator expects")
    func hostile() throws {
        let reader = try reader()
        for receipt in try SharedSimulator.hostile {
            let stored = reader.read(Array(receipt.text.utf8))
            let outcome: HostileReceipt.MigrationOutcome =
                !stored.isVerified ? .refused : stored.lookupKeys.isEmpty ? .noTransactions : .decoded
            #expect(outcome == receipt.expected, "\(receipt.mangling)")
        }
    }
}
