import ReceiptBridgeComparison

/// Documentation of the rules as a table.
enum RuleListing {
    /// Returns a Markdown table in the order in which the rules are tried.
    static func markdown(_ rules: [ComparisonRule]) -> String {
        let head = "| rule | class | path | condition | explanation | source |\n|---|---|---|---|---|---|\n"
        return head
            + rules.map { rule in
                let sections = rule.parts == ComparisonFinding.Part.allCases ? "everywhere" : rule.sections
                let notes = [
                    rule.isByDefinition ? "by definition" : nil, rule.isInformational ? "informational" : nil,
                    rule.isVolatile ? "volatile" : nil,
                    rule.verdict == .expected && rule.isNoticeable ? "may be noticed" : nil,
                ].compactMap(\.self)
                let verdict = ([rule.verdict.rawValue] + notes).joined(separator: ", ")
                let conditions = rule.conditions.map(\.words).joined(separator: "; ")
                let cells = [
                    "`\(rule.name)`", verdict, sections, conditions, rule.explanation,
                    rule.source.map { "[Apple](\($0))" } ?? rule.basis,
                ]
                return "| \(cells.joined(separator: " | ")) |\n"
            }.joined()
    }
}

extension ComparisonRule {
    /// Basis of a rule that has no public page.
    fileprivate var basis: String { name == ComparisonRules.unexplained.name ? "–" : Self.observed }

    fileprivate var sections: String {
        let parts = parts.map { "`\($0 == .answer ? "the response" : $0.rawValue)`" }.joined(separator: ", ")
        return subjects.isEmpty ? parts : "\(parts): \(subjects.map(\.displayText).joined(separator: ", "))"
    }
}

extension ComparisonFinding.Subject {
    fileprivate var displayText: String {
        switch self {
        case .row: "a row on one side only"
        case .repetition: "a repeated row"
        case .ends: "the first or last row"
        case .order: "the order of other rows"
        case .field(let name): "`\(name)`"
        }
    }
}
