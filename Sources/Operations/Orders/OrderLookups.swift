package import AppStoreClients
import AppStorePayloads
package import Base
package import Storage

/// Looks up the orders of one app, and stores each answer with how often the order was asked for.
///
/// An answer counts once it is stored. So if the store cannot be written, the lookup fails: a caller that watches for
/// orders that are presented again must not get a count that is too low
/// ([decision 55](../../../docs/decisions/0055-counted-order-lookups.md)).
package struct OrderLookups: Sendable {
    private let client: ServerAPIClient
    package let bundleId: BundleIdentifier
    private let log: (any OrderLog)?
    private let now: @Sendable () -> Timestamp

    /// - Parameter log: `nil` if there is no store. Then nothing is counted.
    package init(
        client: ServerAPIClient, bundleId: BundleIdentifier, log: (any OrderLog)?,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        self.client = client
        self.bundleId = bundleId
        self.log = log
        self.now = now
    }

    /// Looks up an order in production; the sandbox has none.
    ///
    /// - Throws: ``UpstreamError``, or ``StorageError`` if the answer cannot be stored.
    package func lookUp(_ id: OrderIdentifier, _ options: CallOptions) async throws -> OrderReport {
        let order = try await client.order(id.rawValue, options)
        let scope = AppScope(bundleId: bundleId, environment: .production)
        let askedBefore = try await log?.record(OrderLookupRow(order, of: id), of: scope, at: now()) ?? 0
        return OrderReport(orderId: id, order: order, askedBefore: askedBefore)
    }
}

/// The id of an order on a customer's invoice: 1 to 64 ASCII letters and digits. Customers type it, so it can be any
/// text.
///
/// Example: `M76RHDBYIBH`.
package struct OrderIdentifier: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package let rawValue: String

    /// Returns `nil` if the text is empty, longer than 64 bytes, or contains anything but ASCII letters and digits.
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
    /// How often the order was asked for before; 0 without a store.
    package let askedBefore: Int64

    /// `true` if the order has purchases of this app.
    package var isFound: Bool { order.status == 0 }
}

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

extension OrderLookupRow {
    /// The maximum size of the stored transactions in bytes. Further ones are stored by their ids only.
    private static let maximumBytes = 256 << 10

    init(_ order: OrderLookup, of id: OrderIdentifier) {
        var claims: [[UInt8]] = []
        var size = 0
        var identifiers: Set<String> = []
        for transaction in order.transactions {
            let payload = transaction.payload
            identifiers.formUnion([payload.transactionId, payload.originalTransactionId].compactMap(\.self))
            size += payload.claims.count
            if size <= Self.maximumBytes { claims.append(payload.claims) }
        }
        self.init(
            orderId: id.rawValue, status: order.status, transactions: claims, identifiers: identifiers.sorted())
    }
}
