package import AppStore
import Rendering
import StoreTypes

/// One transaction or renewal of either side.
package struct ComparedRow: Sendable, Hashable {
    /// By ``RowField``.
    private var values: [ComparedValue?] = Array(repeating: nil, count: RowField.allCases.count)
    /// What no table knows, and what only iOS 6 answers have; by name, ascending.
    package var extras: [Extra] = []
    /// Of the App Store Server API only: see `ProductType`.
    package var type: String?
    /// Of the App Store Server API only: it says an introduction without saying of which kind.
    package var hasUndecidedIntroduction = false
    /// Of the App Store Server API only: the app.
    package var bundleId: String?
    /// Of the App Store Server API only.
    package var environment: String?

    /// A value under a name that the tables do not know.
    package struct Extra: Sendable, Hashable {
        package let name: String
        package let value: ComparedValue
    }

    /// One that says nothing.
    package init() {}

    /// Nil where the row does not say.
    package subscript(field: RowField) -> ComparedValue? {
        get { values[field.rawValue] }
        set { values[field.rawValue] = newValue }
    }

    /// An id that names something; nil for none, an empty one, and the `0` of Xcode.
    func identifier(_ field: RowField) -> String? {
        guard let text = self[field]?.text, !text.isEmpty, text != "0" else { return nil }
        return text
    }

    var purchaseDate: Timestamp? { self[.purchaseDate]?.instant }
    var expiresDate: Timestamp? { self[.expiresDate]?.instant }
    var isConsumable: Bool { type == ProductType.consumable.rawValue }
    var isUpgraded: Bool { self[.isUpgraded]?.flag == true }
    /// While it runs: it was neither cancelled nor upgraded.
    var givesAccess: Bool { self[.revocationDate] == nil && !isUpgraded }
    var isFamilyShared: Bool { self[.inAppOwnershipType]?.text == OwnershipType.familyShared.rawValue }

    /// Only auto-renewables expire.
    var isAutoRenewable: Bool { type.map { $0 == ProductType.autoRenewable.rawValue } ?? (self[.expiresDate] != nil) }
}

extension ComparedRow {
    /// What the App Store Server API says of a transaction.
    package init(_ payload: TransactionPayload) {
        self.init()
        for (field, source) in RowField.ofTransactions {
            if let value = source.value(of: payload) { self[field] = ComparedValue(value) }
        }
        type = payload.type
        hasUndecidedIntroduction =
            payload.offerType == OfferType.introductory.rawValue && payload.offerDiscountType == nil
        bundleId = payload.bundleId
        environment = payload.environment
    }

    /// What the App Store Server API says of a renewal.
    package init(_ payload: RenewalPayload) {
        self.init()
        for (field, source) in RowField.ofRenewals {
            if let value = source.value(of: payload) { self[field] = ComparedValue(value) }
        }
        // The tables' rules leave out a "no" that verifyReceipt would not say; here it must not pass unseen.
        if let isRetrying = payload.isInBillingRetryPeriod { self[.isInBillingRetryPeriod] = .flag(isRetrying) }
        environment = payload.environment
    }
}
