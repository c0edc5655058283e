import ReceiptBridgeResponses

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
