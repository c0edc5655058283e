package import StoreTypes

/// Facts about a comparison that its two sides do not contain.
package struct ComparisonContext: Sendable {
    /// Class that an app's owner assigns to the differences of a rule, instead of the rule's own.
    package enum Override: String, Sendable, Hashable, CaseIterable {
        case expected, unexpected, ignore
    }

    /// Identifies the receipt in differences: a digest or an id.
    package var receipt: String
    /// Time of the responses; if `nil`, the `request_date` of the verifyReceipt response is used.
    package var now: Timestamp?
    /// Milliseconds between the two responses.
    package var timeDifference: Int64 = 0
    /// Result of the local signature check; `nil` if there was none.
    package var isAuthentic: Bool?
    /// `true` if the verifyReceipt request had `exclude-old-transactions`.
    package var excludesOldTransactions = false
    /// Transaction ids of consumables in the records that the second side was rendered from. Needed because a
    /// verifyReceipt response does not state product types.
    package var consumables: Set<String> = []
    /// Overrides by rule name. Names of unknown rules have no effect, see ``ComparisonRules/unknown(in:)``.
    package var overrides: [String: Override] = [:]

    /// Creates a context for the comparison of one receipt.
    package init(receipt: String, now: Timestamp? = nil) {
        self.receipt = receipt
        self.now = now
    }
}
