import ReceiptBridgeAppStore
package import ReceiptBridgeBase
import ReceiptBridgeStorage

/// The output of `tokens set`: `{ "originalTransactionId", "appAccountToken" }`. Apple's response has no body.
package enum AccountTokenAnswer {
    package static func set(_ token: AccountToken, of id: TransactionIdentifier) -> [UInt8] {
        JSONWriter.object {
            $0.member("originalTransactionId", id.rawValue)
            $0.member("appAccountToken", token.text)
        }
    }
}

extension AppOperations {
    /// `PUT /v1/transactions/{id}/appAccountToken` with `{ "appAccountToken": "…" }`.
    package func setAppAccountToken(
        of text: String, body: [UInt8], _ target: OperationTarget
    ) async throws(OperationError) -> [UInt8] {
        let id = try transactionId(text)
        let given: String?
        do {
            given = try JSONObject(body).text("appAccountToken")
        } catch {
            throw OperationError(.malformedRequest, "the body is not a JSON object with the text appAccountToken")
        }
        let token = try accountToken(given)
        let scope = try await scope(target, of: .transaction(id))
        let client = try client(for: scope.bundleId)
        try await converting {
            try await client.setAppAccountToken(id, token.text, in: scope.environment, options)
        }
        components.recordsAtHand.markChanged([id.rawValue], in: scope)
        if store != nil {
            // Stores the new record, so that the customer is found by the token. The token is set in any case.
            let keys = CustomerIdentifiers(originalTransactionIds: [id.rawValue], transactionIds: [])
            _ = try? await components.serverAPI?.refresh(keys, in: scope, within: .seconds(5))
        }
        return AccountTokenAnswer.set(token, of: id)
    }
}
