package import Ledger

/// A service that looks up customers. The implementation uses the App Store Server API; tests use substitutes.
package protocol CustomerLookupService: Sendable {
    /// Returns whether there is a key for the app.
    func handles(_ bundleId: String) -> Bool

    /// Requests all data of a customer. Waits as long as the rate limit requires.
    func lookUp(_ customer: MigrationCustomer) async -> CustomerAnswer

    /// Sets the account token of a purchase. Returns `nil` if that succeeded, otherwise an error code.
    func setAccountToken(_ token: String, of identifier: String, customer: MigrationCustomer) async -> String?

    /// Number of calls so far, and the remaining calls of this hour for the app that has the fewest.
    var usage: (calls: Int64, left: Int64?) { get }

    /// Number of histories that can be requested in an hour. The same number can be requested in a burst.
    var callsPerHour: Double { get }
}

/// Result of a customer lookup.
package enum CustomerAnswer: Sendable, Hashable {
    /// The lookup has a result for this customer.
    case found(CustomerLookupResult)
    /// The lookup failed for a reason that probably affects all customers; the `Stop` is that reason.
    case failing(Migration.Stop, reason: String)
    /// The run ended before there was a response.
    case cancelled
    /// The run has to stop because the key is rejected.
    case giveUp(reason: String)
}
