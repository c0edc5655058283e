package import Base

/// A receipt that is damaged, encoded in another way or forged, with the expected results.
package struct HostileReceipt: Sendable, Hashable {
    /// The outcomes of a migration with the profile `tolerant` and without the Server API.
    package enum Outcome: String, Sendable, Hashable {
        case decoded, noTransactions, refused
    }

    /// Name of the modification, for example `spaceForPlus`.
    package let mangling: String
    /// The text as a client would send it.
    package let text: String
    package let environment: AppStoreEnvironment
    package let style: String
    package let originalTransactionIds: [String]
    package let expected: Outcome
    /// Expected verifyReceipt status with strict reading: 21002, 21003 or 0.
    package let status: Int64

    package var id: String { "h-\(mangling)" }

    /// A line of `hostile.jsonl`.
    package var document: JSONValue {
        .object([
            "id": .string(id), "receipt": .string(text), "environment": .string(environment.rawValue),
            "style": .string(style), "originalTransactionIds": .array(originalTransactionIds.map(JSONValue.string)),
            "mangling": .string(mangling), "expected": .string(expected.rawValue), "status": .number(status),
        ])
    }

    init(
        _ mangling: String, _ text: String, of receipt: IssuedReceipt, _ expected: Outcome, _ status: Int64
    ) {
        self.mangling = mangling
        self.text = text
        self.expected = expected
        self.status = status
        environment = receipt.environment
        style = receipt.plan.style
        originalTransactionIds = receipt.originalTransactionIds
    }
}

extension SimulatedStore {
    /// Returns all modifications of this world's receipts. Those for which the world has no suitable receipt are
    /// omitted.
    package func hostileReceipts() throws -> [HostileReceipt] {
        let app = receipts.first { $0.plan.version == nil && $0.hasAutoRenewable }
        // Only receipts of active subscriptions, whose genuine response has status 0.
        let running = receipts.filter { $0.plan.version ?? 0 >= 3 && $0.customer.expectedStatus == 0 }
        let old = running.first { $0.environment == .production }
        let oldSandbox = running.first { $0.environment == .sandbox }
        var list: [HostileReceipt] = []
        if let app {
            list += recodings(of: app)
            list += try nonReceipts(insteadOf: app)
            list += try forgeries(of: app)
        }
        if let padded = receipts.first(where: { $0.base64.hasSuffix("=") && $0.plan.version == nil }) {
            let bare = padded.base64.replacing("=", with: "")
            list.append(HostileReceipt("missingPadding", bare, of: padded, .decoded, 21002))
        }
        if let empty = receipts.first(where: { $0.transactions.isEmpty }) {
            list.append(
                HostileReceipt(
                    "percentEncodedWithoutPurchases", ReceiptEncodingVariant.percentEncoded(empty.base64), of: empty,
                    .noTransactions, 21002))
        }
        if let old { list += try transactionReceiptForgeries(of: old) }
        if let oldSandbox {
            list.append(try editedEnvironment("environmentLineRemoved", of: oldSandbox, line: nil))
        }
        return list
    }
}
