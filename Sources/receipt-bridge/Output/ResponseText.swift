import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses

/// The output of `verify` for people: the status in words, and the purchases.
struct ResponseText {
    let file: String
    let reply: SourcedAnswer
    let body: [UInt8]

    var text: String {
        let status = reply.answer.status
        var lines = [
            "\(InspectionReport.printable(file)): status \(status), \(Self.meaning(of: status))",
            "  source:       \(reply.source.rawValue)",
        ]
        guard let response = try? ResponseDocument(body), response.receipt != nil else {
            return lines.joined(separator: "\n")
        }
        lines += [
            "  environment:  \(reply.environment.rawValue)",
            "  bundle id:    \(InspectionReport.printable(response.bundleId))",
        ]
        lines += Self.lines("purchases:    ", response.snapshotRows)
        if response.hasLatest { lines += Self.lines("latest:       ", response.latestRows) }
        let renewals = response.renewals.sorted { $0.key < $1.key }
        if !renewals.isEmpty { lines.append("  renewals:     \(renewals.count)") }
        lines += renewals.map { original, renewal in
            let state =
                renewal.isRetrying
                ? "payment is retried" : renewal.isOn.map { $0 ? "renews" : "will not renew" } ?? "unknown"
            return "  - \(InspectionReport.printable(original)) \(state)"
        }
        return lines.joined(separator: "\n")
    }

    private static func lines(_ title: String, _ rows: [DocumentObject]) -> [String] {
        ["  \(title)\(rows.count)"]
            + rows.map { row in
                let line = InspectionReport.line(
                    row.text("product_id"), row.text("transaction_id"), row.text("original_transaction_id"),
                    from: row.instant(ResponseDocument.Purchase.purchaseDate),
                    to: row.instant(ResponseDocument.Purchase.expiresDate))
                let isCancelled = row.instant(ResponseDocument.Purchase.cancellationDate) != nil
                return line + (isCancelled ? ", canceled" : "")
            }
    }

    private static func meaning(of status: VerifyReceiptStatus) -> String {
        switch status {
        case .valid: "authentic"
        case .malformedReceipt: "not a receipt"
        case .notAuthentic: "NOT AUTHENTIC"
        case .wrongSharedSecret: "wrong shared secret"
        case .temporarilyUnavailable: "not decided: try again later"
        case .subscriptionExpired: "authentic, and the subscription has expired"
        case .sandboxReceipt: "of the sandbox"
        case .productionReceipt: "not of the sandbox"
        case .accountNotFound: "the customer's account does not exist"
        default: "see Apple's documentation of the status"
        }
    }
}
