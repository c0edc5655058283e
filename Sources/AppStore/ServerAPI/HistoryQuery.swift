package import StoreTypes

/// Which transactions of a customer to tell; the same on every page.
///
/// https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history
package struct HistoryQuery: Sendable, Hashable {
    /// By the date of the last change, not of the purchase.
    package enum Sort: String, Sendable {
        /// What changed last comes last: the one order in which a kept revision makes sense.
        case ascending = "ASCENDING"
        /// What changed last comes first.
        case descending = "DESCENDING"
    }

    /// Purchases from this instant on.
    package var startDate: Timestamp?
    /// Purchases before this instant; may lie ahead.
    package var endDate: Timestamp?
    /// Only these products; empty for all.
    package var productIds: [String] = []
    /// Only these types; empty for all, and what has no name in a query is left out.
    package var productTypes: [ProductType] = []
    /// Nil leaves it to Apple: ascending.
    package var sort: Sort?
    /// Only these groups; empty for all.
    package var subscriptionGroupIdentifiers: [String] = []
    /// Nil for both.
    package var ownership: OwnershipType?
    /// True for revoked ones only, false for all others; nil for both.
    package var revoked: Bool?

    /// Everything.
    package init() {}

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
