import ReceiptBridgeResponses

extension Comparison {
    /// Ids that transactions are matched by, the most specific first.
    static let identifiers: [RowField] = [.transactionId, .webOrderLineItemId]

    /// Compares the transactions of both sides. Does nothing if no history was recorded.
    mutating func compareRows() {
        guard right.form != .records || right.latest != nil else { return }
        let rightLatest = distinct(right.latest ?? [], .latest, isLeft: false)
        let snapshot = distinct(left.snapshot, .snapshot, isLeft: true)
        let latest = left.latest.map { distinct($0, .latest, isLeft: true) }
        let rightSnapshot = right.form == .records ? rightLatest : distinct(right.snapshot, .snapshot, isLeft: false)
        let ofSnapshot = RowMatching(snapshot, rightSnapshot, by: Self.identifiers)
        let ofLatest = latest.map { RowMatching($0, rightLatest, by: Self.identifiers) }
        facts.hasCommonRows = !ofSnapshot.pairs.isEmpty || !(ofLatest?.pairs.isEmpty ?? true)

        compareAppsOfRows(rightLatest)
        compare(ofSnapshot, .snapshot)
        if let ofLatest {
            compare(ofLatest, .latest)
            reportMissing(ofLatest.onlyRight, .latest, isLeft: false)
        } else if right.form != .records {
            reportMissing(rightLatest, .latest, isLeft: false)
        }
        // If there is a `latest_receipt_info`, the history is compared with it, and `in_app` may be incomplete.
        if right.form != .records || ofLatest == nil {
            reportMissing(ofSnapshot.onlyRight, .snapshot, isLeft: false)
        }
    }

    /// Returns the rows without duplicates, and reports each duplicate. The last row with an id is used.
    private mutating func distinct(_ rows: [ComparedRow], _ part: ComparisonFinding.Part, isLeft: Bool) -> [ComparedRow]
    {
        let distinct = UniqueRows(rows)
        for row in distinct.repeated {
            let (left, right) = isLeft ? (row, nil) : (nil, row)
            report(
                ComparisonFinding(
                    part: part, subject: .repetition, verifyReceipt: left?[.transactionId],
                    serverAPI: right?[.transactionId], left: left, right: right))
        }
        return distinct.rows
    }

    /// Reports rows of another app or environment that the envelope of the history does not reveal.
    private mutating func compareAppsOfRows(_ rows: [ComparedRow]) {
        guard right.form == .records else { return }
        for row in rows {
            if let said = row.bundleId, let own = left.bundleId, said != own, said != right.bundleId {
                compare(.latest, "bundleId", .text(own), .text(said), rows: (nil, row))
            }
            if let said = row.environment, let own = left.environment ?? right.environment, said != own,
                said != right.environment || left.environment == nil
            {
                compare(.latest, "environment", .text(own), .text(said), rows: (nil, row))
            }
        }
    }

    private mutating func compare(_ matching: RowMatching, _ part: ComparisonFinding.Part) {
        for (left, right) in matching.pairs { compare(left, right, part, RowField.transactionFields) }
        reportMissing(matching.onlyLeft, part, isLeft: true)
        compareOrder(matching, part)
    }

    mutating func compare(
        _ left: ComparedRow, _ right: ComparedRow, _ part: ComparisonFinding.Part, _ fields: [RowField]
    ) {
        for field in fields {
            let (one, other) = (left[field], right[field])
            guard one != other else { continue }
            if one == nil, isAlwaysAbsent(field, part) { continue }
            compare(part, field.name, one, other, rows: (left, right))
        }
        guard !left.extras.isEmpty || !right.extras.isEmpty else { return }
        if self.right.form == .records {
            for extra in left.extras where !Self.isKnown(extra.name) {
                compare(part, extra.name, extra.value, nil, rows: (left, right))
            }
            // `in_app` and `latest_receipt_info` are compared with the same history.
            guard part == .latest || self.left.latest == nil else { return }
            for extra in right.extras { compare(part, extra.name, nil, extra.value, rows: (left, right)) }
        } else if left.extras != right.extras {
            for (name, one, other) in ComparedRow.Extra.pairs(left.extras, right.extras) {
                compare(part, name, one, other, rows: (left, right))
            }
        }
    }

    /// Returns whether the name is in the field tables: a property that the App Store Server API does not have.
    private static func isKnown(_ name: String) -> Bool {
        InAppField(rawValue: name) != nil || FlatTransactionField(rawValue: name) != nil
            || PurchaseInfoField(rawValue: name) != nil
    }

    /// Returns whether this form of response never has the field, so that its absence is no difference.
    private func isAlwaysAbsent(_ field: RowField, _ part: ComparisonFinding.Part) -> Bool {
        guard right.form == .records else { return false }
        switch (left.form, part) {
        case (.flatAnswer, .snapshot), (.flatAnswer, .latest): return RowField.unknownToFlat.contains(field)
        case (_, .snapshot): return RowField.unknownToSnapshots.contains(field)
        default: return false
        }
    }

    /// Reports rows without a counterpart. Their value is the transaction id, or the product id if there is none.
    mutating func reportMissing(_ rows: [ComparedRow], _ part: ComparisonFinding.Part, isLeft: Bool) {
        for row in rows {
            let id = row[part == .renewals ? .originalTransactionId : .transactionId] ?? row[.productId]
            // Report the row even if it has no id.
            let value = id ?? .text("")
            report(
                ComparisonFinding(
                    part: part, subject: .row, verifyReceipt: isLeft ? value : nil, serverAPI: isLeft ? nil : value,
                    left: isLeft ? row : nil, right: isLeft ? nil : row, expiresDate: row.expiresDate))
        }
    }
}
