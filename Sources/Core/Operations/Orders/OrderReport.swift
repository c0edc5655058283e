package import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// The id of an order on a customer's invoice: 1 to 64 ASCII letters and digits. Customers type it, so it can be any
/// text.
///
/// Example: `M76RHDBYIBH`.
package struct OrderIdentifier: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package let rawValue: String

    package init?(rawValue: String) {
        guard (1...64).contains(rawValue.utf8.count), rawValue.utf8.allSatisfy(\.isASCIIAlphanumeric) else {
            return nil
        }
        self.rawValue = rawValue
    }

    package var description: String { rawValue }
}

/// The answer to the lookup of an order.
package struct OrderReport: Sendable {
    package let orderId: OrderIdentifier
    package let order: OrderLookup

    /// Looks up an order in production; the sandbox has none.
    package init(
        of id: OrderIdentifier, from client: ServerAPIClient, _ options: CallOptions
    ) async throws(UpstreamError) {
        (orderId, order) = (id, try await client.order(id.rawValue, options))
    }

    package var isFound: Bool { order.status == 0 }
}

/// The JSON of the lookup of an order:
///
///     { "orderId": "…", "status": 0, "transactions": [ {…} ] }
///
/// Transactions are written as they were signed.
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
        }
    }
}
