import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeComparison
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport

/// Both sides of one simulated customer.
struct ComparisonPair {
    let answer: [UInt8]
    let records: CustomerRecords

    init(_ receipt: IssuedReceipt, in store: SimulatedStore) throws {
        let body = Array(Question.body(receipt.base64, password: SimulatedApp.first.sharedSecret, [:]))
        answer = try store.verifyReceipt.answer(body: body, at: .automatic).bytes
        records = try Self.records(of: receipt.customer)
    }

    var verifyReceipt: ComparedAnswer { get throws { try ComparedAnswer(verifyReceipt: answer) } }
    var serverAPI: ComparedAnswer { get throws { try ComparedAnswer(records) } }

    static func records(of customer: SimulatedCustomer) throws -> CustomerRecords {
        let rows = customer.transactions.sorted { $0.lastModified < $1.lastModified }
        let transactions = try rows.map { row in
            let payload = try TransactionPayload(
                JSONObject(row.row(customer.environment, signedDate: SharedSimulator.noon).bytes))
            return Signed(payload: payload, text: "")
        }
        let subscriptions = try customer.renewals.map { renewal in
            let payload = try RenewalPayload(
                JSONObject(renewal.row(customer.environment, signedDate: SharedSimulator.noon).bytes))
            return SubscriptionRecord(
                subscriptionGroupIdentifier: nil, originalTransactionId: renewal.originalTransactionId,
                status: Int(renewal.status.rawValue), transaction: nil, renewal: Signed(payload: payload, text: ""))
        }
        return CustomerRecords(
            environment: customer.environment, bundleId: SimulatedApp.first.bundleId,
            appAppleId: customer.environment == .production ? SimulatedApp.first.appAppleId : nil,
            transactions: transactions, subscriptions: subscriptions, revision: nil)
    }
}
