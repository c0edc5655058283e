package import StoreTypes

/// What is known of a comparison beside its two sides.
package struct ComparisonContext: Sendable {
    /// What an app's owner wants a rule's differences to be.
    package enum Override: String, Sendable, Hashable, CaseIterable {
        case expected, unexpected, ignore
    }

    /// Names the receipt in differences: a digest, or an id.
    package var receipt: String
    /// When the answers were given; nil takes the answer's own `request_date`.
    package var now: Timestamp?
    /// Milliseconds between the two answers.
    package var timeDifference: Int64 = 0
    /// What our own verification says of the receipt; nil where it was not asked.
    package var isAuthentic: Bool?
    /// verifyReceipt was asked with `exclude-old-transactions`.
    package var excludesOldTransactions = false
    /// Transaction ids of the consumables in the records that the second side was made of: an answer does not say what is
    /// one.
    package var consumables: Set<String> = []
    /// By the rules' names; those of unknown rules do nothing, see ``ComparisonRules/unknown(in:)``.
    package var overrides: [String: Override] = [:]

    /// A comparison of the answers to one receipt.
    package init(receipt: String, now: Timestamp? = nil) {
        self.receipt = receipt
        self.now = now
    }
}
