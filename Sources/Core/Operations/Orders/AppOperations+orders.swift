import ReceiptBridgeBase
import ReceiptBridgeStorage

extension AppOperations {
    /// Looks up an order: `GET /v1/orders/{orderId}`.
    package func order(_ text: String, _ target: OperationTarget) async throws(OperationError) -> [UInt8] {
        OrderAnswer.json(try await orderReport(text, target))
    }

    package func orderReport(_ text: String, _ target: OperationTarget) async throws(OperationError) -> OrderReport {
        guard let id = OrderIdentifier(rawValue: text) else {
            throw OperationError(.malformedOrderId, "an order id is 1 to 64 letters and digits")
        }
        guard try target.namedEnvironment() != .sandbox else {
            throw OperationError(.malformedRequest, "environment: the sandbox has no orders")
        }
        let scope = try await scope(target, of: .order(id.rawValue))
        let client = try client(for: scope.bundleId)
        return try await converting { try await OrderReport(of: id, from: client, options) }
    }
}
