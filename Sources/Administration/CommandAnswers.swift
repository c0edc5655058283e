import JSON
import AppStorePayloads
package import AppStoreClients
package import AppStoreTypes
import Transport

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

/// The output of `consumption send`: `{ "transactionId": "…", "sent": true }`. Apple's response has no body.
package enum ConsumptionAnswer {
    package static func sent(_ id: TransactionIdentifier) -> [UInt8] {
        JSONWriter.object {
            $0.member("transactionId", id.rawValue)
            $0.member("sent", true)
        }
    }
}

/// The output of `orders lookup`:
///
///     { "orderId": "…", "status": 0, "transactions": [ {…} ], "signedTransactions": [ "eyJ…" ] }
///
/// Transactions are written as they were signed.
///
/// https://developer.apple.com/documentation/appstoreserverapi/orderlookupresponse
package enum OrderAnswer {
    /// - Parameter orderId: The id that was looked up, which Apple's response does not repeat.
    package static func line(_ order: OrderLookup, orderId: String) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("orderId", orderId)
            writer.member("status", order.status)
            writer.array("transactions", order.transactions) { $0.values(json: $1.payload.claims) }
            writer.array("signedTransactions", order.transactions) { $0.value($1.text) }
        }
    }
}
