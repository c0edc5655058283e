/// Information about the files of a store, for diagnosis.
package struct StoreInspection: Sendable, Hashable {
    /// Result of the check of the structure.
    package enum Integrity: Sendable, Hashable {
        case intact
        case damaged(String)
        /// The time limit ended the check before everything was read.
        case unfinished
    }

    /// A column with values that differ from what was written to it.
    package struct DamagedColumn: Sendable, Hashable, CustomStringConvertible {
        /// Table and column. Example: `customer.askedAt`.
        package let name: String
        package let count: Int64

        package var description: String { "\(count) \(count == 1 ? "value" : "values") of \(name)" }
    }

    /// Size of the files in bytes.
    package let bytes: Int64
    /// The last applied schema migration; `nil` for an empty store.
    package let layout: String?
    /// `true` if no schema migration is pending.
    package let isCurrent: Bool
    package let integrity: Integrity
    /// The damaged columns; empty if the structure is damaged or was not checked completely.
    package let damage: [DamagedColumn]
    /// Number of customers of each app that need a lookup, by bundle id. Empty for a damaged store.
    package let customersToLookUp: [String: Int64]
    /// Number of customers that a server can answer from the store. 0 for a damaged store.
    package let completeCustomers: Int64
    /// Apps that have transaction ids in common, see ``SharedIdentifiers``.
    package let appsWithSharedIdentifiers: [String]
}
