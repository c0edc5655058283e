/// One named reason why two answers differ, or one named fault that must not go unseen.
package struct ComparisonRule: Sendable {
    /// Whether a difference is a reason to worry.
    package enum Class: String, Sendable, Hashable, CaseIterable, Codable {
        case expected, unexpected
    }

    /// What its differences are called.
    package let name: String
    /// Where in a document, by the names of paths.
    let parts: [Finding.Part]
    /// Of what; empty for every field.
    let subjects: [Finding.Subject]
    /// All of them must hold.
    package let conditions: [ComparisonCondition]
    /// Whether it is a reason to worry.
    package let verdict: Class
    /// Only to be told: it says nothing of production.
    package let isInformational: Bool
    /// It may be gone when both sides are asked once more.
    package let isVolatile: Bool
    /// The public page that it rests on; nil for what was ``observed``.
    package let source: String?
    /// Why it is so, in one sentence.
    package let explanation: String

    /// What rules without a public page rest on.
    package static let observed = "observed in genuine answers"

    init(
        _ name: String, _ verdict: Class, _ parts: [Finding.Part], _ subjects: [Finding.Subject] = [],
        when conditions: [ComparisonCondition] = [], isInformational: Bool = false, isVolatile: Bool = false,
        source: String? = nil, _ explanation: String
    ) {
        self.name = name
        self.verdict = verdict
        self.parts = parts
        self.subjects = subjects
        self.conditions = conditions
        self.isInformational = isInformational
        self.isVolatile = isVolatile
        self.source = source
        self.explanation = explanation
    }

    func names(_ finding: Finding, _ all: ComparisonFacts) -> Bool {
        parts.contains(finding.part) && covers(finding.subject)
            && conditions.allSatisfy { $0.holds(finding, all) }
    }

    private func covers(_ subject: Finding.Subject) -> Bool {
        if case .field = subject, subjects.isEmpty { return true }
        return subjects.contains(subject)
    }
}

extension Finding.Subject {
    static func fields(_ fields: RowField...) -> [Self] { fields.map { .field($0.name) } }
}
