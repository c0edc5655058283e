import Base
import Storage
import VerifyReceipt

extension AppOperations {
    /// Sends consumption information: `POST /v1/consumption/{transactionId}`.
    package func consumption(
        _ text: String, body: [UInt8], _ target: OperationTarget
    ) async throws(OperationError) -> [UInt8] {
        let id = try transactionId(text)
        let information = try ConsumptionInformation(body: body)
        let scope = try scope(target)
        let sender = ConsumptionSender(
            client: try client(for: scope.bundleId), scope: scope, store: store, now: components.now)
        let outcome = try await converting { try await sender.send(information, of: id, options) }
        return switch outcome {
        case .sent: ConsumptionAnswer.sent(id)
        case .preview(let request, _): DryRun.line(request)
        }
    }
}
