package import ReceiptBridgeAppStore
package import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeTransport

extension AppOperations {
    /// Sends consumption information: `POST /v1/consumption/{transactionId}`.
    package func consumption(
        _ text: String, body: [UInt8], _ target: OperationTarget
    ) async throws(OperationError) -> [UInt8] {
        let id = try transactionId(text)
        let information = try ConsumptionInformation(body: body)
        let scope = try await scope(target, of: .transaction(id))
        let sender = ConsumptionSender(
            client: try client(for: scope.bundleId), scope: scope, store: store, now: components.now)
        let outcome = try await converting { try await sender.send(information, of: id, options) }
        return switch outcome {
        case .sent: ConsumptionAnswer.sent(id)
        case .preview(let request, _): DryRun.line(request)
        }
    }
}

/// The output of `consumption send`: `{ "transactionId": "…", "sent": true }`. Apple's response has no body.
package enum ConsumptionAnswer {
    package static func sent(_ id: TransactionIdentifier) -> [UInt8] {
        JSONWriter.object {
            $0.member("transactionId", id.rawValue)
            $0.member("sent", true)
        }
    }
}

/// The output of `--dry-run`: the request that a command would send.
///
///     { "dryRun": true, "method": "PUT", "url": "https://…", "body": {…} | null }
package enum DryRun {
    package static func line(_ preview: RequestPreview) -> [UInt8] {
        JSONWriter.object {
            $0.member("dryRun", true)
            $0.member("method", preview.method.rawValue)
            $0.member("url", preview.url)
            $0.member("body", json: preview.body)
        }
    }
}
