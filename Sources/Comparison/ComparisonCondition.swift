import StoreTypes

/// What must hold of a difference for a rule to name it.
package enum ComparisonCondition: Sendable, Hashable {
    /// Only in the sandbox.
    case sandbox
    /// Only where the second side is a history, not an answer.
    case againstRecords
    /// The answer is to an iOS 6 receipt.
    case flat
    case bothSay, onlyVerifyReceipt, onlyServerAPI, oneSide
    /// Two instants less than so many milliseconds apart, or exactly so many.
    case within(UInt64)
    case sameButForCase
    case notAUUID
    /// "no" on the one side, nothing on the other.
    case noAgainstNothing
    /// A number on the one side is 0, on the other there is none.
    case zeroAgainstNothing
    /// The Server API says 1, verifyReceipt something less or nothing.
    case lessThanConsent
    case familyShared
    /// The Server API does not say it of an upgrade, verifyReceipt says that it was cancelled.
    case cancelledUpgrade
    case consumable
    /// Nothing says that it renews by itself.
    case notAutoRenewable
    case revokedInHistory
    case sameLineItem
    /// The Server API knows the customer by both ids.
    case knownToServerAPI
    /// Matched without the transaction's id.
    case matchedOtherwise
    /// The answer's list is full, and the row is no newer than its oldest.
    case beyondCap
    case emptyList
    case noList
    /// The row stands in `latest_receipt_info` too.
    case inLatest
    /// Asked with `exclude-old-transactions`, and no subscription is missing altogether.
    case excludingOld
    /// Not a newer period of a subscription than the one that the answer gives as its newest.
    case noNewerThanListed
    /// An older period of a subscription than the one that the answer gives as its newest.
    case olderThanListed
    /// Of a product that the receipt does not list.
    case otherProduct
    case historyV1
    case recentPurchase, recentExpiry
    /// Not one transaction of the one side stands on the other.
    case nothingInCommon
    case takenApart
    case undecidedIntroduction
    case signatureContradiction

    /// Rows of a full `latest_receipt_info`.
    ///
    /// https://developer.apple.com/documentation/appstorereceipts/responsebody/latest_receipt_info
    package static let cap = 100
    /// Ten minutes: how long a purchase may take to reach the history. A choice: reports speak of minutes.
    package static let recentMilliseconds: UInt64 = 600_000
    /// A minute: answers taken further apart may tell of two states of a renewal. A choice.
    package static let togetherMilliseconds: Int64 = 60_000

    func holds(_ finding: Finding, _ all: ComparisonFacts) -> Bool {
        let (left, right) = (finding.verifyReceipt, finding.serverAPI)
        switch self {
        case .sandbox: return all.isSandbox
        case .againstRecords: return all.isAgainstRecords
        case .flat: return all.isFlat
        case .bothSay: return left != nil && right != nil
        case .onlyVerifyReceipt: return left != nil && right == nil
        case .onlyServerAPI: return left == nil && right != nil
        case .oneSide: return (left == nil) != (right == nil)
        case .within(let limit): return finding.distance.map { $0 <= limit } ?? false
        case .sameButForCase:
            guard let left = left?.text, let right = right?.text else { return false }
            return left.lowercased() == right.lowercased()
        case .notAUUID: return (left?.text ?? right?.text).map { !Self.isUUID($0) } ?? false
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
                || finding.identifier.map(all.context.consumables.contains) ?? false
        case .notAutoRenewable:
            return finding.left?.isAutoRenewable != true && finding.right?.isAutoRenewable != true
        case .revokedInHistory: return finding.right?[.revocationDate] != nil
        case .sameLineItem:
            return finding.left?.identifier(.webOrderLineItemId) != nil
                && finding.left?.identifier(.webOrderLineItemId) == finding.right?.identifier(.webOrderLineItemId)
        case .knownToServerAPI:
            return [left, right].allSatisfy { $0?.text.map(all.serverIdentifiers.contains) ?? false }
        case .matchedOtherwise: return finding.left != nil && finding.right != nil
        case .beyondCap:
            guard let count = all.latestCount, count >= Self.cap, let date = finding.purchaseDate,
                let oldest = all.oldest
            else { return false }
            return date <= oldest
        case .emptyList: return all.latestCount == 0 && all.snapshotCount > 0
        case .noList: return all.latestCount == nil
        case .inLatest: return finding.identifier.map(all.latestIdentifiers.contains) ?? false
        case .excludingOld:
            guard all.context.excludesOldTransactions else { return false }
            return finding.right?.isAutoRenewable == false || all.newestListed(finding.right) != nil
        case .noNewerThanListed:
            guard let listed = all.newestListed(finding.right), let date = finding.purchaseDate else { return true }
            return date <= listed
        case .olderThanListed:
            guard let listed = all.newestListed(finding.left), let date = finding.purchaseDate else { return false }
            return date < listed
        case .otherProduct:
            return finding.left?[.productId]?.text.map { !all.snapshotProducts.contains($0) } ?? false
        case .historyV1: return all.historyVersion == 1
        case .recentPurchase: return all.isRecent(finding.purchaseDate)
        case .recentExpiry: return all.isRecent(finding.expiresDate)
        case .nothingInCommon: return !all.hasCommonRows
        case .takenApart: return all.context.timeDifference.magnitude > UInt64(Self.togetherMilliseconds)
        case .undecidedIntroduction: return finding.right?.hasUndecidedIntroduction == true
        case .signatureContradiction:
            let notAuthentic = Int64(VerifyReceiptStatus.notAuthentic.rawValue)
            return [left, right].contains(.number(notAuthentic)) || all.context.isAuthentic == false
        }
    }

    private static func isUUID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.utf8.count) == [8, 4, 4, 4, 12] && parts.joined().allSatisfy(\.isHexDigit)
    }
}
