extension AlignedPair {
    /// Limit on the rows of a section.
    package static let maximumRows = 40
    /// Limit on the fields of a row, because documents can contain any number of properties.
    static let maximumFields = 60

    /// Aligns the rows with the matching that the comparison uses. Rows with differences have precedence.
    package init(
        verifyReceipt: ComparedAnswer, serverAPI: ComparedAnswer, differences: [Difference], receipt: String,
        maximumRows: Int = AlignedPair.maximumRows
    ) {
        let marks = DifferenceMarks(differences)
        self.receipt = receipt.shortened
        bundleId = (verifyReceipt.bundleId ?? serverAPI.bundleId ?? "").shortened
        environment = (verifyReceipt.environment ?? serverAPI.environment ?? "").shortened
        sections = AlignedRows.all(verifyReceipt, serverAPI)
            .map { $0.section(marks, maximumRows: max(maximumRows, 0)) }
            .filter { !$0.rows.isEmpty || $0.omitted > 0 }
    }
}

extension AlignedRows {
    fileprivate func section(_ marks: DifferenceMarks, maximumRows: Int) -> AlignedPair.Section {
        // Differences of the section itself, such as its order, come before its rows.
        let whole = part == .answer ? [] : marks.ofWhole(part)
        var shown = whole.map { difference in
            AlignedPair.Row(
                identifier: "",
                fields: [AlignedPair.Field(difference, named: difference.path == part.rawValue ? "order" : "")])
        }
        let urgencies = rows.map { marks.urgency(of: $0.identifier, in: part) }
        var included = Array(rows.indices)
        if rows.count > maximumRows {
            // The sort is stable: of rows with equal urgency, the first ones are included.
            included = Array(included.sorted { urgencies[$0] > urgencies[$1] }.prefix(maximumRows)).sorted()
        }
        shown += included.map { rows[$0].row(marks, in: part) }
        return AlignedPair.Section(name: part.rawValue, rows: shown, omitted: rows.count - included.count)
    }
}

extension AlignedRows.Pair {
    /// A difference that belongs to a field is shown in the field, all others are appended.
    fileprivate func row(_ marks: DifferenceMarks, in part: ComparisonFinding.Part) -> AlignedPair.Row {
        var found = marks.ofRow(identifier, in: part)
        let isApp = part == .answer
        var fields = values.map { name, left, right in
            var field = AlignedPair.Field(
                name: name.shortened, verifyReceipt: left?.displayText,
                serverAPI: right?.displayText)
            if let difference = found.removeValue(forKey: name)?.first {
                field.rule = difference.rule
                field.verdict = difference.verdict.rawValue
                // The difference can have a value that the field does not. For example, status 0, which is implied by
                // the existence of records. Of long texts it shows the part that differs.
                field.verifyReceipt = difference.verifyReceipt?.displayText ?? field.verifyReceipt
                field.serverAPI = difference.serverAPI?.displayText ?? field.serverAPI
            }
            return field
        }
        let ofRow = isApp ? nil : found.removeValue(forKey: "")?.first
        // Differences in values that are not in these two rows.
        for (name, differences) in found.sorted(by: { $0.key < $1.key }) {
            fields += differences.prefix(1).map { AlignedPair.Field($0, named: name) }
        }
        let omitted = max(fields.count - AlignedPair.maximumFields, 0)
        if omitted > 0 {
            let included = fields.indices.sorted { fields[$0].urgency > fields[$1].urgency }
            fields = included.prefix(AlignedPair.maximumFields).sorted().map { fields[$0] }
        }
        return AlignedPair.Row(
            identifier: (identifier ?? "").shortened, fields: fields, omitted: omitted,
            rule: ofRow?.rule, verdict: ofRow?.verdict.rawValue)
    }
}

extension AlignedPair.Field {
    fileprivate init(_ difference: Difference, named name: String) {
        self.init(
            name: name.shortened, verifyReceipt: difference.verifyReceipt?.displayText,
            serverAPI: difference.serverAPI?.displayText, rule: difference.rule, verdict: difference.verdict.rawValue)
    }

    /// 2 for an unexpected difference, 1 for an expected one, 0 for none.
    fileprivate var urgency: Int { verdict == ComparisonRule.Class.unexpected.rawValue ? 2 : rule == nil ? 0 : 1 }
}
