package import Ledger

/// Whoever can be asked about customers: the App Store Server API, or nobody.
package protocol CustomerLookupService: Sendable {
    /// Whether there is a key for the app.
    func handles(_ bundleId: String) -> Bool

    /// All that is known of a customer; takes as long as the budget makes it wait.
    func lookUp(_ customer: MigrationCustomer) async -> CustomerAnswer

    /// Ties an account of the app's to a purchase. Nil where that is done; else a word for why not.
    func setAccountToken(_ token: String, of identifier: String, customer: MigrationCustomer) async -> String?

    /// Calls that were made, and what is left of the budget of the hour for the app that has the least.
    var usage: (calls: Int64, left: Int64?) { get }

    /// Histories that may be asked for in an hour; as many can be asked for at once.
    var callsPerHour: Double { get }
}

/// What asking came to.
package enum CustomerAnswer: Sendable, Hashable {
    case found(CustomerLookupResult)
    /// The customer's rows have failed for a reason that likely concerns all customers; `stop` says which.
    case failing(Migration.Stop, reason: String)
    /// The run ended before there was an answer.
    case cancelled
    /// The run is to end: the key is refused, or somebody stopped it.
    case giveUp(reason: String)
}
