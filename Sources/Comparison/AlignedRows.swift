/// The aligned rows of one section of both documents.
struct AlignedRows {
    struct Pair {
        /// Id of the row, as in ``Difference/identifier``.
        let identifier: String?
        /// Values of both sides, in the order of the field tables.
        let values: [(name: String, left: ComparedValue?, right: ComparedValue?)]
    }

    let part: ComparisonFinding.Part
    let rows: [Pair]

    /// Returns all sections in the order of the documents, the top level first.
    static func all(_ left: ComparedAnswer, _ right: ComparedAnswer) -> [AlignedRows] {
        let isAnswer = right.form != .records
        let theirs = UniqueRows(right.latest ?? []).rows
        let others = isAnswer ? UniqueRows(right.snapshot).rows : theirs
        // If there is a `latest_receipt_info`, the history is aligned with it.
        let latest = left.latest.map { UniqueRows($0).rows } ?? (isAnswer ? [] : nil)
        let snapshot = RowMatching(UniqueRows(left.snapshot).rows, others, by: Comparison.identifiers)
        return [
            AlignedRows(part: .answer, rows: [answers(left, right)]),
            AlignedRows(part: .snapshot, snapshot, hasOnlyRight: isAnswer || latest == nil),
            AlignedRows(
                part: .latest, RowMatching(latest ?? [], latest == nil ? [] : theirs, by: Comparison.identifiers)),
            AlignedRows(
                part: .renewals,
                RowMatching(
                    left.renewals ?? [], right.renewals ?? [], by: Comparison.renewalIdentifiers)),
            AlignedRows(part: .subscriptions, rows: statuses(right)),
        ]
    }

    private init(part: ComparisonFinding.Part, rows: [Pair]) {
        self.part = part
        self.rows = rows
    }

    private init(part: ComparisonFinding.Part, _ matching: RowMatching, hasOnlyRight: Bool = true) {
        self.part = part
        var rows = matching.pairs.map { Pair($0, $1, part) }
        rows += matching.onlyLeft.map { Pair($0, nil, part) }
        if hasOnlyRight { rows += matching.onlyRight.map { Pair(nil, $0, part) } }
        self.rows = rows
    }

    private static func answers(_ left: ComparedAnswer, _ right: ComparedAnswer) -> Pair {
        let own = left.appValues
        let other = right.appValues
        return Pair(identifier: nil, values: zip(own, other).map { ($0.0, $0.1, $1.1) })
            .adding(left.properties, right.properties)
    }

    /// Returns a row for each status of the App Store Server API. verifyReceipt has no counterpart.
    private static func statuses(_ right: ComparedAnswer) -> [Pair] {
        right.statuses.sorted { $0.key < $1.key }.map { id, status in
            Pair(identifier: id, values: [("status", nil, .number(status))])
        }
    }
}

extension AlignedRows.Pair {
    fileprivate init(_ left: ComparedRow?, _ right: ComparedRow?, _ part: ComparisonFinding.Part) {
        let isRenewal = part == .renewals
        let field: RowField = isRenewal ? .originalTransactionId : .transactionId
        let identifier = left?.identifier(field) ?? right?.identifier(field)
        let fields = isRenewal ? RowField.renewalFields : RowField.transactionFields
        let additional: [(String, KeyPath<ComparedRow, String?>)] = [
            ("type", \.type), ("bundleId", \.bundleId), ("environment", \.environment),
        ]
        var values = fields.map { ($0.name, left?[$0], right?[$0]) }
        values += additional.map { name, path in
            (name, left?[keyPath: path].map(ComparedValue.text), right?[keyPath: path].map(ComparedValue.text))
        }
        self = Self(identifier: identifier, values: values.filter { $0.1 != nil || $0.2 != nil })
            .adding(left?.extras ?? [], right?.extras ?? [])
    }

    /// Returns the pair with the properties that are not in the field tables added.
    fileprivate func adding(_ left: [ComparedRow.Extra], _ right: [ComparedRow.Extra]) -> Self {
        let added = ComparedRow.Extra.pairs(left, right).map { name, left, right in
            (name: name, left: left?.measured(as: name), right: right?.measured(as: name))
        }
        return Self(identifier: identifier, values: values + added)
    }
}

extension ComparedAnswer {
    /// Values that are not in lists, with their paths.
    fileprivate var appValues: [(String, ComparedValue?)] {
        [
            ("status", status.map(ComparedValue.number)), ("environment", environment.map(ComparedValue.text)),
            ("receipt.bundleId", bundleId.map(ComparedValue.text)),
            ("receipt.appAppleId", appAppleId.map(ComparedValue.number)),
        ]
    }
}

extension ComparedValue {
    /// Returns the value to show. A receipt is replaced by its length, because it is never shown.
    fileprivate func measured(as name: String) -> ComparedValue {
        guard name == "latestReceipt", let text else { return self }
        return .text("(\(text.utf8.count) bytes)")
    }
}
