import AppStorePayloads
import Base

/// The stored records of a customer, and how fresh they are.
package struct StoredCustomerSnapshot: Sendable {
    let records: CustomerRecords
    /// Determined once, because a snapshot serves many requests.
    let freshness: Freshness
    /// The number of this snapshot; a cached snapshot that is returned again has the same number. `nil` if the
    /// snapshot cannot be cached.
    var serial: UInt64?
}
