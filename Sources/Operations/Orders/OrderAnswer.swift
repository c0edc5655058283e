package import AppStore
import Rendering

/// The output of `orders lookup`:
///
///     { "orderId": "…", "status": 0, "transactions": [ {…} ], "signedTransactions": [ "eyJ…" ] }
///
/// Transactions are written as they were signed.
///
/// https://developer.apple.com/documentation/appstoreserverapi/orderlookupresponse
package enum OrderAnswer {
    package static func line(_ order: OrderLookup, orderId: String) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("orderId", orderId)
            writer.member("status", order.status)
            writer.key("transactions")
            writer.beginArray()
            for transaction in order.transactions { writer.values(json: transaction.payload.claims) }
            writer.endArray()
            writer.key("signedTransactions")
            writer.beginArray()
            for transaction in order.transactions { writer.value(transaction.text) }
            writer.endArray()
        }
    }
}
