import AppStoreClients
import AppStorePayloads
import Base

/// The JSON of the lookup of an order:
///
///     { "orderId": "…", "status": 0, "transactions": [ {…} ], "askedBefore": 0 }
///
/// Transactions are written as they were signed. `askedBefore` is the number of earlier lookups of this order.
///
/// https://developer.apple.com/documentation/appstoreserverapi/orderlookupresponse
package enum OrderAnswer {
    /// - Parameter includesSigned: adds the member `signedTransactions` with the compact JWS.
    package static func json(_ report: OrderReport, includesSigned: Bool = false) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("orderId", report.orderId.rawValue)
            writer.member("status", report.order.status)
            writer.array("transactions", report.order.transactions) { $0.values(json: $1.payload.claims) }
            if includesSigned {
                writer.array("signedTransactions", report.order.transactions) { $0.value($1.text) }
            }
            writer.member("askedBefore", report.askedBefore)
        }
    }
}
