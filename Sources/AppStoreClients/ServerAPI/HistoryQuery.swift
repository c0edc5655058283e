package import AppStorePayloads
package import Base

/// The filter and sort order of a transaction history. It must be the same for every page.
///
/// https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history
package struct HistoryQuery: Sendable, Hashable {
    /// The sort order by date of last change, not by date of purchase.
    package enum Sort: String, Sendable {
        /// Latest change last. This is the only order in which a stored revision can be used to request changes.
        case ascending = "ASCENDING"
        /// Latest change first.
        case descending = "DESCENDING"
    }

    /// Only purchases at or after this instant.
    package var startDate: Timestamp?
    /// Only purchases before this instant, which may be in the future.
    package var endDate: Timestamp?
    /// Only these products; empty for all.
    package var productIds: [String] = []
    /// Only these types; empty for all. A type without a query value is ignored.
    package var productTypes: [ProductType] = []
    /// `nil` means Apple's default, ascending.
    package var sort: Sort?
    /// Only these subscription groups; empty for all.
    var subscriptionGroupIdentifiers: [String] = []
    /// Only this ownership; `nil` for both.
    package var ownership: OwnershipType?
    /// True for only revoked transactions, false for only others, `nil` for both.
    package var revoked: Bool?

    /// Creates a query for all transactions.
    package init() {}

    /// The query parameters, in the order of Apple's documentation.
    var parameters: [ServerAPICall.Parameter] {
        let pairs: [(String, [String?])] = [
            ("startDate", [startDate.map { String($0.milliseconds) }]),
            ("endDate", [endDate.map { String($0.milliseconds) }]),
            ("productId", productIds),
            ("productType", productTypes.map(\.queryValue)),
            ("sort", [sort?.rawValue]),
            ("subscriptionGroupIdentifier", subscriptionGroupIdentifiers),
            ("inAppOwnershipType", [ownership?.rawValue]),
            ("revoked", [revoked.map { $0 ? "true" : "false" }]),
        ]
        return pairs.flatMap { name, values in
            values.compactMap { $0 }.map { ServerAPICall.Parameter(name: name, value: $0) }
        }
    }
}
