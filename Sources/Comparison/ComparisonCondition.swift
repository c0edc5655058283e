import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeResponses

/// A condition of a ``ComparisonRule``.
package enum ComparisonCondition: Sendable, Hashable {
    /// Either side is from the sandbox.
    case sandbox
    /// The second side is records, not a response rendered from them.
    case againstRecords
    /// The verifyReceipt response is to an iOS 6 receipt.
    case flat
    /// Which sides have a value: both, only verifyReceipt, only the App Store Server API, or exactly one.
    case bothSay, onlyVerifyReceipt, onlyServerAPI, oneSide
    /// Both values are dates that are at most this many milliseconds apart.
    case within(UInt64)
    /// Both sides are texts that are equal except for letter case.
    case sameButForCase
    /// The value is not a UUID. For example, an `applicationUsername` that is an account number.
    case notAUUID
    /// One side is `false`, the other has no value.
    case noAgainstNothing
    /// One side is the number 0, the other has no value.
    case zeroAgainstNothing
    /// The App Store Server API has 1, verifyReceipt has 0 or no value.
    case lessThanConsent
    /// Either row is family shared.
    case familyShared
    /// An upgrade that verifyReceipt shows as canceled and the App Store Server API does not.
    case cancelledUpgrade
    /// The product is a consumable, by its type or by ``ComparisonContext/consumables``.
    case consumable
    /// Neither row is an auto-renewable subscription.
    case notAutoRenewable
    /// The row of the App Store Server API has a revocation date.
    case revokedInHistory
    /// A consumable that was refunded according to ``ComparisonContext/consumables``.
    case refundedConsumable
    /// Both rows have the same web order line item id.
    case sameLineItem
    /// The App Store Server API lists both ids for this customer.
    case knownToServerAPI
    /// Both rows were matched, but not by transaction id.
    case matchedOtherwise
    /// `latest_receipt_info` is full, and the row is no newer than the oldest row in it.
    case beyondCap
    /// `latest_receipt_info` is empty, but `in_app` has rows.
    case emptyList
    /// The response has no `latest_receipt_info`.
    case noList
    /// Only one of two responses has `latest_receipt_info`, and neither has a subscription.
    case latestWithoutSubscription
    /// The transaction is also in `latest_receipt_info`.
    case inLatest
    /// The request had `exclude-old-transactions`. If the row is a subscription, the response also lists one of its
    /// periods.
    case excludingOld
    /// Not newer than the newest period of the same subscription in the response.
    case noNewerThanListed
    /// Older than the newest period of the same subscription in the response.
    case olderThanListed
    /// The product is not in the receipt.
    case otherProduct
    /// The records come from Get Transaction History version 1.
    case historyV1
    /// The purchase or expiration date is within ``recentMilliseconds`` of the time of the comparison.
    case recentPurchase, recentExpiry
    /// The two sides have no transaction in common.
    case nothingInCommon
    /// The responses are more than ``togetherMilliseconds`` apart.
    case takenApart
    /// The row of the App Store Server API has an introductory offer of unknown kind.
    case undecidedIntroduction
    /// A free introductory offer of ``TrialDates/unknown`` on both sides.
    case trialOfUnknownDays
    /// The random UUID of a redeemed offer code: in `in_app`, or next to the offer's name on either side.
    case offerCodeUUID
    /// Either status is 21003, or the local signature check failed.
    case signatureContradiction

    /// Number of rows of a full `latest_receipt_info`.
    ///
    /// https://developer.apple.com/documentation/appstorereceipts/responsebody/latest_receipt_info
    package static let listLimit = 100
    /// Time in milliseconds (10 minutes) that a purchase may take to reach the history. An estimate: developers
    /// report delays of minutes.
    static let recentMilliseconds: UInt64 = 600_000
    /// Responses further apart than this, in milliseconds (1 minute), may show two states of a renewal. An estimate.
    static let togetherMilliseconds: Int64 = 60_000

    /// Returns whether the condition applies to a finding.
    func holds(_ finding: ComparisonFinding, _ facts: ComparisonFacts) -> Bool {
        let (left, right) = (finding.verifyReceipt, finding.serverAPI)
        switch self {
        case .sandbox: return facts.isSandbox
        case .againstRecords: return facts.isAgainstRecords
        case .flat: return facts.isFlat
        case .bothSay: return left != nil && right != nil
        case .onlyVerifyReceipt: return left != nil && right == nil
        case .onlyServerAPI: return left == nil && right != nil
        case .oneSide: return (left == nil) != (right == nil)
        case .within(let limit): return finding.distance.map { $0 <= limit } ?? false
        case .sameButForCase:
            guard let left = left?.text, let right = right?.text else { return false }
            return left.lowercased() == right.lowercased()
        case .notAUUID: return (left?.text ?? right?.text).map { UUIDText($0) == nil } ?? false
        case .noAgainstNothing:
            return left == nil && right?.flag == false || right == nil && left?.flag == false
        case .zeroAgainstNothing:
            return left == nil && right?.number == 0 || right == nil && left?.number == 0
        case .lessThanConsent: return right?.number == 1 && (left == nil || left?.number == 0)
        case .familyShared: return finding.isFamilyShared
        case .cancelledUpgrade:
            return right == nil && finding.isUpgraded && finding.subject != .field(RowField.isUpgraded.name)
                || finding.right?.isUpgraded == true && finding.left?[.revocationDate] != nil
        case .consumable:
            return finding.right?.isConsumable == true
                || finding.identifier.map(facts.context.consumables.all.contains) ?? false
        case .notAutoRenewable:
            return finding.left?.isAutoRenewable != true && finding.right?.isAutoRenewable != true
        case .revokedInHistory: return finding.right?[.revocationDate] != nil
        case .refundedConsumable:
            return finding.identifier.map(facts.context.consumables.refunded.contains) ?? false
        case .sameLineItem:
            return finding.left?.identifier(.webOrderLineItemId) != nil
                && finding.left?.identifier(.webOrderLineItemId) == finding.right?.identifier(.webOrderLineItemId)
        case .knownToServerAPI:
            return [left, right].allSatisfy { $0?.text.map(facts.serverIdentifiers.contains) ?? false }
        case .matchedOtherwise: return finding.left != nil && finding.right != nil
        case .beyondCap:
            guard let count = facts.latestCount, count >= Self.listLimit, let date = finding.purchaseDate,
                let oldest = facts.oldest
            else { return false }
            return date <= oldest
        case .emptyList: return facts.latestCount == 0 && facts.snapshotCount > 0
        case .noList: return facts.latestCount == nil
        case .latestWithoutSubscription: return facts.hasLatestWithoutSubscription
        case .inLatest: return finding.identifier.map(facts.latestIdentifiers.contains) ?? false
        case .excludingOld:
            guard facts.context.excludesOldTransactions else { return false }
            return finding.right?.isAutoRenewable == false || facts.newestListed(finding.right) != nil
        case .noNewerThanListed:
            guard let listed = facts.newestListed(finding.right), let date = finding.purchaseDate else { return true }
            return date <= listed
        case .olderThanListed:
            guard let listed = facts.newestListed(finding.left), let date = finding.purchaseDate else { return false }
            return date < listed
        case .otherProduct:
            return finding.left?[.productId]?.text.map { !facts.snapshotProducts.contains($0) } ?? false
        case .historyV1: return facts.historyVersion == 1
        case .recentPurchase: return facts.isRecent(finding.purchaseDate)
        case .recentExpiry: return facts.isRecent(finding.expiresDate)
        case .nothingInCommon: return !facts.hasCommonRows
        case .takenApart: return facts.context.timeDifference.magnitude > UInt64(Self.togetherMilliseconds)
        case .undecidedIntroduction: return finding.right?.hasUndecidedIntroduction == true
        case .trialOfUnknownDays:
            let isIntroductory = [finding.left, finding.right].allSatisfy { $0?.isIntroductoryTrial == true }
            return isIntroductory && finding.purchaseDate.map(TrialDates.unknown.contains) ?? false
        case .offerCodeUUID:
            guard left?.text.flatMap(UUIDText.init)?.version == 4 else { return false }
            return finding.part == .snapshot
                || [finding.left, finding.right].contains { $0?[.offerCodeRefName] != nil }
        case .signatureContradiction:
            let notAuthentic = Int64(VerifyReceiptStatus.notAuthentic.rawValue)
            return [left, right].contains(.number(notAuthentic)) || facts.context.isAuthentic == false
        }
    }
}
