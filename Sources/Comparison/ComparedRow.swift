import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeResponses

/// One transaction or renewal of either side.
package struct ComparedRow: Sendable, Hashable {
    /// Values, indexed by the raw value of ``RowField``.
    private var values: [ComparedValue?] = Array(repeating: nil, count: RowField.allCases.count)
    /// Properties that are in no field table or only in iOS 6 responses, sorted by name. In App Store Server API rows
    /// those that are newer than verifyReceipt and say something about access.
    var extras: [Extra] = []
    /// Product type, see `ProductType`. Only in App Store Server API rows.
    package var type: String?
    /// `true` if the row has an introductory offer of unknown kind: `offerType` 1 without `offerDiscountType`. Only
    /// in App Store Server API rows.
    var hasUndecidedIntroduction = false
    /// Bundle id of the app. Only in App Store Server API rows.
    package var bundleId: String?
    /// Environment of the transaction. Only in App Store Server API rows.
    package var environment: String?

    /// A property that is not a ``RowField``.
    package struct Extra: Sendable, Hashable {
        /// Name of the property: that of the field table, or the key in the response.
        package let name: String
        package let value: ComparedValue

        /// The values of both sides by name: those of the left side, then those that only the right side has.
        static func pairs(
            _ left: [Extra], _ right: [Extra]
        ) -> [(name: String, left: ComparedValue?, right: ComparedValue?)] {
            let others = Dictionary(right.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last })
            let names = Set(left.map(\.name))
            var pairs: [(name: String, left: ComparedValue?, right: ComparedValue?)] = []
            pairs += left.map { ($0.name, $0.value, others[$0.name]) }
            pairs += right.filter { !names.contains($0.name) }.map { ($0.name, nil, $0.value) }
            return pairs
        }
    }

    init() {}

    package subscript(field: RowField) -> ComparedValue? {
        get { values[field.rawValue] }
        set { values[field.rawValue] = newValue }
    }

    /// Returns an id; `nil` if it is missing, empty, or `0`, which Xcode writes.
    func identifier(_ field: RowField) -> String? {
        guard let text = self[field]?.text, !text.isEmpty, text != "0" else { return nil }
        return text
    }

    /// Date of this period or purchase, not of the original purchase.
    var purchaseDate: Timestamp? { self[.purchaseDate]?.instant }
    var expiresDate: Timestamp? { self[.expiresDate]?.instant }
    /// `true` only for App Store Server API rows, because verifyReceipt does not return the product type.
    var isConsumable: Bool { type == ProductType.consumable.rawValue }
    var isUpgraded: Bool { self[.isUpgraded]?.flag == true }
    /// `true` if the period gives access while it runs: it was neither canceled nor upgraded.
    var givesAccess: Bool { self[.revocationDate] == nil && !isUpgraded }
    var isFamilyShared: Bool { self[.inAppOwnershipType]?.text == OwnershipType.familyShared.rawValue }

    /// `true` if the period is free and its offer has no identifier.
    var isIntroductoryTrial: Bool {
        self[.isTrialPeriod]?.flag == true && RowField.offerIdentifiers.allSatisfy { self[$0] == nil }
    }

    var isAutoRenewable: Bool { ProductType.isAutoRenewable(type, expires: self[.expiresDate] != nil) }
}

extension ComparedRow {
    init(_ payload: TransactionPayload) {
        self.init()
        for (field, source) in RowField.ofTransactions { self[field] = ComparedValue(source.value(of: payload)) }
        type = payload.type
        hasUndecidedIntroduction =
            payload.offerType == OfferType.introductory.rawValue && payload.offerDiscountType == nil
        bundleId = payload.bundleId
        environment = payload.environment
        extras = Self.extras([
            ("advancedCommerceInfo", payload.advancedCommerceInfo.map { .text(String(decoding: $0, as: UTF8.self)) }),
            ("billingPlanType", Self.plan(payload.billingPlanType, isOrdinary: payload.commitmentInfo == nil)),
            (
                "commitmentInfo.commitmentExpiresDate",
                payload.commitmentInfo?.commitmentExpiresDate.map(ComparedValue.instant)
            ),
            ("previousOriginalTransactionId", payload.previousOriginalTransactionId.map(ComparedValue.text)),
        ])
    }

    init(_ payload: RenewalPayload) {
        self.init()
        for (field, source) in RowField.ofRenewals { self[field] = ComparedValue(source.value(of: payload)) }
        // The rendering rules omit a `false` here because verifyReceipt would omit it. The comparison needs it.
        if let isRetrying = payload.isInBillingRetryPeriod { self[.isInBillingRetryPeriod] = .flag(isRetrying) }
        environment = payload.environment
        extras = Self.extras([
            ("advancedCommerceInfo", payload.advancedCommerceInfo.map { .text(String(decoding: $0, as: UTF8.self)) }),
            (
                "commitmentInfo.commitmentRenewalDate",
                payload.commitmentInfo?.commitmentRenewalDate.map(ComparedValue.instant)
            ),
            (
                "renewalBillingPlanType",
                Self.plan(payload.renewalBillingPlanType, isOrdinary: payload.commitmentInfo == nil)
            ),
        ])
    }

    /// Returns a billing plan, unless it is the one of every ordinary subscription: Apple's transactions of 2026 state
    /// that they are billed upfront, those of before do not.
    private static func plan(_ type: String?, isOrdinary: Bool) -> ComparedValue? {
        type.flatMap { isOrdinary && $0 == "BILLED_UPFRONT" ? nil : .text($0) }
    }

    private static func extras(_ values: [(name: String, value: ComparedValue?)]) -> [Extra] {
        values.compactMap { name, value in value.map { Extra(name: name, value: $0) } }
    }
}
