import Base
import Storage
import Telemetry
import VerifyReceipt

extension AppOperations {
    /// Looks up an order, and counts the outcome: `GET /v1/orders/{orderId}`.
    package func order(_ text: String, _ target: OperationTarget) async throws(OperationError) -> [UInt8] {
        OrderAnswer.json(try await orderReport(text, target))
    }

    /// Looks up an order, and counts the outcome.
    package func orderReport(_ text: String, _ target: OperationTarget) async throws(OperationError) -> OrderReport {
        guard let id = OrderIdentifier(rawValue: text) else {
            throw OperationError(.malformedOrderId, "an order id is 1 to 64 letters and digits")
        }
        guard try target.namedEnvironment() != .sandbox else {
            throw OperationError(.malformedRequest, "environment: the sandbox has no orders")
        }
        let scope = try await scope(target, of: .order(id.rawValue))
        let lookups = OrderLookups(
            client: try client(for: scope.bundleId), bundleId: scope.bundleId, log: store?.orders, now: components.now)
        let counts = components.counts[scope.bundleId].orders
        do throws(OperationError) {
            let report = try await converting { try await lookups.lookUp(id, options) }
            counts.add(report.isFound ? OrderLabel.found : .unknown, report.askedBefore > 0 ? RepetitionLabel.yes : .no)
            return report
        } catch {
            counts.add(OrderLabel.failed, RepetitionLabel.no)
            throw error
        }
    }
}
