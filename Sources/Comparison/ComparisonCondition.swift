import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeResponses

/// A condition of a ``ComparisonRule``.
package struct ComparisonCondition: Sendable {
    /// The condition in words, which identify it.
    package let words: String
    let holds: @Sendable (ComparisonFinding, ComparisonFacts) -> Bool

    private init(_ words: String, _ holds: @escaping @Sendable (ComparisonFinding, ComparisonFacts) -> Bool) {
        (self.words, self.holds) = (words, holds)
    }

    /// Number of rows of a full `latest_receipt_info`.
    ///
    /// https://developer.apple.com/documentation/appstorereceipts/responsebody/latest_receipt_info
    package static let listLimit = 100
    /// Time in milliseconds (10 minutes) that a purchase may take to reach the history. An estimate: developers
    /// report delays of minutes.
    static let recentMilliseconds: UInt64 = 600_000
    /// Responses further apart than this, in milliseconds (1 minute), may show two states of a renewal. An estimate.
    static let togetherMilliseconds: Int64 = 60_000
}

extension ComparisonCondition: Equatable {
    package static func == (one: Self, other: Self) -> Bool { one.words == other.words }
}

extension ComparisonCondition {
    static let sandbox = Self("in the sandbox") { $1.isSandbox }
    package static let againstRecords = Self("compared with a history") { $1.isAgainstRecords }
    static let flat = Self("iOS 6 response") { $1.isFlat }
    static let historyV1 = Self("history of version 1") { $1.historyVersion == 1 }
    static let takenApart = Self("responses more than a minute apart") {
        $1.context.timeDifference.magnitude > UInt64(togetherMilliseconds)
    }
    static let nothingInCommon = Self("no transaction in common") { !$1.hasCommonRows }
    static let noList = Self("no `latest_receipt_info`") { $1.latestCount == nil }
    static let emptyList = Self("empty list, but rows in `in_app`") { $1.latestCount == 0 && $1.snapshotCount > 0 }
    static let latestWithoutSubscription = Self("one `latest_receipt_info`, no subscription") {
        $1.hasLatestWithoutSubscription
    }
    static let signatureContradiction = Self("21003 on one side") { finding, facts in
        let notAuthentic = Int64(VerifyReceiptStatus.notAuthentic.rawValue)
        return finding.values.contains(.number(notAuthentic)) || facts.context.isAuthentic == false
    }
}

extension ComparisonCondition {
    static let bothSay = Self("both sides have a value") { finding, _ in !finding.values.contains(nil) }
    static let onlyVerifyReceipt = Self("only verifyReceipt has it") { finding, _ in
        finding.verifyReceipt != nil && finding.serverAPI == nil
    }
    static let onlyServerAPI = Self("only the Server API has it") { finding, _ in
        finding.verifyReceipt == nil && finding.serverAPI != nil
    }
    static let oneSide = Self("one side has no value") { finding, _ in
        (finding.verifyReceipt == nil) != (finding.serverAPI == nil)
    }
    static func within(_ limit: UInt64) -> Self {
        Self("at most \(limit) ms apart") { finding, _ in finding.distance.map { $0 <= limit } ?? false }
    }
    static let sameButForCase = Self("equal except for letter case") { finding, _ in
        guard let left = finding.verifyReceipt?.text, let right = finding.serverAPI?.text else { return false }
        return left.lowercased() == right.lowercased()
    }
    /// For example, an `applicationUsername` that is an account number.
    static let notAUUID = Self("not a UUID") { finding, _ in
        (finding.verifyReceipt?.text ?? finding.serverAPI?.text).map { UUIDText($0) == nil } ?? false
    }
    static let noAgainstNothing = Self("`false` against no value") { finding, _ in finding.isOnly(.flag(false)) }
    static let zeroAgainstNothing = Self("0 against no value") { finding, _ in finding.isOnly(.number(0)) }
    /// The App Store Server API has 1, verifyReceipt has 0 or no value.
    static let lessThanConsent = Self("1 against 0 or no value") { finding, _ in
        finding.serverAPI == .number(1) && [nil, .number(0)].contains(finding.verifyReceipt)
    }
    static let knownToServerAPI = Self("the Server API lists both ids for this customer") { finding, facts in
        finding.values.allSatisfy { $0?.text.map(facts.serverIdentifiers.contains) ?? false }
    }
    static let offerCodeUUID = Self("a random UUID, in `in_app` or next to `offer_code_ref_name`") { finding, _ in
        guard finding.verifyReceipt?.text.flatMap(UUIDText.init)?.version == 4 else { return false }
        return finding.part == .snapshot
            || [finding.left, finding.right].contains { $0?[.offerCodeRefName] != nil }
    }
}

extension ComparisonCondition {
    static let familyShared = Self("family shared") { finding, _ in finding.isFamilyShared }
    /// An upgrade that verifyReceipt shows as canceled and the App Store Server API does not.
    static let cancelledUpgrade = Self("an upgrade that verifyReceipt shows as canceled") { finding, _ in
        finding.serverAPI == nil && finding.isUpgraded && finding.subject != .field(RowField.isUpgraded.name)
            || finding.right?.isUpgraded == true && finding.left?[.revocationDate] != nil
    }
    /// By the type of the product, or by ``ComparisonContext/consumables``.
    static let consumable = Self("a consumable") { finding, facts in
        finding.right?.isConsumable == true
            || finding.identifier.map(facts.context.consumables.all.contains) ?? false
    }
    static let refundedConsumable = Self("a consumable that was refunded") { finding, facts in
        finding.identifier.map(facts.context.consumables.refunded.contains) ?? false
    }
    /// Neither row is one.
    static let notAutoRenewable = Self("not an auto-renewable subscription") { finding, _ in
        finding.left?.isAutoRenewable != true && finding.right?.isAutoRenewable != true
    }
    static let revokedInHistory = Self("revoked in the history") { finding, _ in
        finding.right?[.revocationDate] != nil
    }
    static let sameLineItem = Self("same line item") { finding, _ in
        let lineItem = finding.left?.identifier(.webOrderLineItemId)
        return lineItem != nil && lineItem == finding.right?.identifier(.webOrderLineItemId)
    }
    /// Both rows were matched, but not by transaction id.
    static let matchedOtherwise = Self("matched without the id") { finding, _ in
        finding.left != nil && finding.right != nil
    }
    static let otherProduct = Self("the product is not in the receipt") { finding, facts in
        finding.left?[.productId]?.text.map { !facts.snapshotProducts.contains($0) } ?? false
    }
    static let undecidedIntroduction = Self("an introductory offer without `offerDiscountType`") { finding, _ in
        finding.right?.hasUndecidedIntroduction == true
    }
    /// A free introductory offer of ``TrialDates/unknown`` on both sides.
    static let trialOfUnknownDays = Self("a free introductory offer bought from 2024-08-18 to 2024-09-02") {
        finding, _ in
        let isIntroductory = [finding.left, finding.right].allSatisfy { $0?.isIntroductoryTrial == true }
        return isIntroductory && finding.purchaseDate.map(TrialDates.unknown.contains) ?? false
    }
}

extension ComparisonCondition {
    /// `latest_receipt_info` is full, and the row is no newer than the oldest row in it.
    static let beyondCap = Self("no newer than the oldest row of a full list") { finding, facts in
        guard let count = facts.latestCount, count >= listLimit, let date = finding.purchaseDate,
            let oldest = facts.oldest
        else { return false }
        return date <= oldest
    }
    static let inLatest = Self("also in `latest_receipt_info`") { finding, facts in
        finding.identifier.map(facts.latestIdentifiers.contains) ?? false
    }
    /// If the row is a subscription, the response also lists one of its periods.
    static let excludingOld = Self("requested with `exclude-old-transactions`") { finding, facts in
        facts.context.excludesOldTransactions
            && (finding.right?.isAutoRenewable == false || facts.newestListed(finding.right) != nil)
    }
    static let noNewerThanListed = Self("no newer than the newest listed period") { finding, facts in
        guard let listed = facts.newestListed(finding.right), let date = finding.purchaseDate else { return true }
        return date <= listed
    }
    static let olderThanListed = Self("older than the newest listed period") { finding, facts in
        guard let listed = facts.newestListed(finding.left), let date = finding.purchaseDate else { return false }
        return date < listed
    }
    static let recentPurchase = Self("purchased within 10 minutes") { $1.isRecent($0.purchaseDate) }
    static let recentExpiry = Self("expires within 10 minutes") { $1.isRecent($0.expiresDate) }
}
