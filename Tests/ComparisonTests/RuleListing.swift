import ReceiptBridgeComparison
import ReceiptBridgeTestSupport

/// Documentation of the rules as a table.
enum RuleListing {
    /// Returns the rules as CSV, in the order in which they are tried.
    static func csv(_ rules: [ComparisonRule]) -> String {
        RecordedDocument.csv(
            [["rule", "class", "path", "condition", "explanation", "source"]]
                + rules.map { rule in
                    let notes = [
                        rule.isByDefinition ? "by definition" : nil, rule.isInformational ? "informational" : nil,
                        rule.isVolatile ? "volatile" : nil,
                        rule.verdict == .expected && rule.isNoticeable ? "may be noticed" : nil,
                    ].compactMap(\.self)
                    let sections = rule.parts == ComparisonFinding.Part.allCases ? "everywhere" : rule.sections
                    return [
                        rule.name, ([rule.verdict.rawValue] + notes).joined(separator: ", "), sections,
                        rule.conditions.map(\.words).joined(separator: "; "), rule.explanation,
                        rule.source ?? rule.basis,
                    ]
                })
    }
}

extension ComparisonRule {
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
