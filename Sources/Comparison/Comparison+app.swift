import ReceiptBridgeBase
import ReceiptBridgeResponses

/// Compares the status, the app, and the properties that are not in lists.
extension Comparison {
    /// Records have no status, so 0 is assumed for them, or 21003 if the local signature check failed.
    mutating func compareStatus() {
        let valid = Int64(VerifyReceiptStatus.valid.rawValue)
        let notAuthentic = Int64(VerifyReceiptStatus.notAuthentic.rawValue)
        if right.form == .records {
            // Records exist only for receipts that are authentic, unless the local signature check says otherwise.
            let ours = context.isAuthentic == false ? notAuthentic : valid
            let isSettled = left.isVerdict ? ours == valid : left.status == ours
            if !isSettled { compare(.answer, "status", left.status.map(ComparedValue.number), .number(ours)) }
        } else {
            compare(
                .answer, "status", left.status.map(ComparedValue.number), right.status.map(ComparedValue.number),
                expiresDate: [left, right].compactMap(\.newest?.expiresDate).max())
        }
    }

    mutating func compareApp() {
        compare(.receipt, "bundleId", left.bundleId, right.bundleId)
        compare(.answer, "environment", left.environment, right.environment)
        // `appAppleId` can be missing in recorded pages, and Apple omits it in the sandbox.
        let isSilent =
            left.form == .flatAnswer && left.appAppleId == nil
            || right.appAppleId == nil && left.appAppleId != 0
                && [left.environment, right.environment].contains(AppStoreEnvironment.production.rawValue)
        if right.form != .records || !isSilent {
            compare(
                .receipt, "appAppleId", left.appAppleId.map(ComparedValue.number),
                right.appAppleId.map(ComparedValue.number))
        }
    }

    /// Compares only what both sides can contain: iOS 6 responses have no environment, and recorded histories may
    /// have no bundle id.
    private mutating func compare(_ part: ComparisonFinding.Part, _ name: String, _ left: String?, _ right: String?) {
        if self.left.form == .flatAnswer, left == nil, part == .answer { return }
        if self.right.form == .records, right == nil { return }
        compare(part, name, left.map(ComparedValue.text), right.map(ComparedValue.text))
    }

    /// Compares the properties that only verifyReceipt responses have.
    mutating func compareProperties() {
        guard right.form != .records else {
            let excluded = Set(AnswerField.repetitions.map(\.rawValue))
            for property in left.properties where !excluded.contains(property.name) && !property.isOfReceipt {
                compare(.answer, property.name, property.value, nil)
            }
            return
        }
        guard left.properties != right.properties else { return }
        for (name, left, right) in ComparedRow.Extra.pairs(left.properties, right.properties) {
            let isOfReceipt = name.hasPrefix("receipt.")
            compare(isOfReceipt ? .receipt : .answer, isOfReceipt ? String(name.dropFirst(8)) : name, left, right)
        }
    }
}

extension ComparedRow.Extra {
    /// `true` if the property belongs to the receipt. The App Store Server API returns no receipt properties.
    fileprivate var isOfReceipt: Bool { name.hasPrefix("receipt.") }
}

/// Compares the order of the rows that both sides have.
extension Comparison {
    /// Reports a list with another first or last row, because clients read these as the current purchase; otherwise
    /// one whose other rows are in another order. Records have no order that a client sees.
    mutating func compareOrder(_ matching: RowMatching, _ part: ComparisonFinding.Part) {
        guard right.form != .records, let swapped = matching.firstSwapped else { return }
        let pairs = matching.pairs
        let differing = [(0, matching.rightEnds.first), (pairs.count - 1, matching.rightEnds.last)]
            .filter { $0 != $1 }.map { (pairs[$0].left, pairs[$1].right) }
            .first { Self.distinction($0, $1) != nil }
        if let differing {
            reportEnds(differing, matching, part)
        } else if let field = Self.distinction(swapped.left, swapped.right) {
            report(
                ComparisonFinding(
                    part: part, subject: .order, verifyReceipt: swapped.left[field], serverAPI: swapped.right[field]))
        }
    }

    /// Reports which end is the newest row on each side, with the setting that turns the list round; the two rows if
    /// that does not explain it.
    private mutating func reportEnds(
        _ rows: (left: ComparedRow, right: ComparedRow), _ matching: RowMatching, _ part: ComparisonFinding.Part
    ) {
        guard let field = Self.distinction(rows.left, rows.right) else { return }
        var finding = ComparisonFinding(
            part: part, subject: .ends, verifyReceipt: rows.left[field], serverAPI: rows.right[field])
        if part == .latest, let theirs = NewestEnd(matching.pairs.map(\.left), 0, matching.pairs.count - 1),
            let ours = NewestEnd(matching.pairs.map(\.right), matching.rightEnds.first, matching.rightEnds.last),
            theirs != ours
        {
            finding.setting = "latestReceiptInfoOrder: \(theirs.order.rawValue)"
            (finding.verifyReceipt, finding.serverAPI) = (.text(theirs.rawValue), .text(ours.rawValue))
        }
        report(finding)
    }

    /// Returns the field that distinguishes two rows. Rows without ids are distinguished by product or date; equal ones
    /// have no order.
    private static func distinction(_ one: ComparedRow, _ other: ComparedRow) -> RowField? {
        let fields = identifiers + [.originalTransactionId, .productId, .purchaseDate]
        return fields.first { one[$0] != other[$0] }
    }
}

/// The end of a list at which the newest purchase is.
private enum NewestEnd: String {
    case first = "newest first"
    case last = "newest last"

    /// `nil` if neither the first nor the last row, or both, were purchased last.
    init?(_ rows: [ComparedRow], _ first: Int, _ last: Int) {
        let newest = rows.compactMap(\.purchaseDate).max()
        let (isFirst, isLast) = (rows[first].purchaseDate == newest, rows[last].purchaseDate == newest)
        guard newest != nil, isFirst != isLast else { return nil }
        self = isFirst ? .first : .last
    }

    var order: AnswerOptions.Order { self == .first ? .descending : .ascending }
}
