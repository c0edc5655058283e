/// A named reason why two responses differ, or a named fault that must be reported.
package struct ComparisonRule: Sendable {
    /// Class of a difference, in the order of reports.
    package enum Class: String, Sendable, Hashable, CaseIterable, Codable, Comparable {
        /// Needs attention.
        case unexpected
        /// Known, and counts as the same response.
        case expected
        /// Only in the records, of which no client gets anything. Such a difference is listed and decides nothing.
        case records

        package static func < (one: Self, other: Self) -> Bool { one.rank < other.rank }

        private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    package let name: String
    package let parts: [ComparisonFinding.Part]
    /// Subjects that the rule applies to; empty means every field.
    package let subjects: [ComparisonFinding.Subject]
    package let conditions: [ComparisonCondition]
    package let verdict: Class
    /// `true` if a difference is for information only, because it has no meaning for production.
    package let isInformational: Bool
    /// `true` if a difference may disappear if both sides are requested again.
    package let isVolatile: Bool
    /// `true` if the values differ in every comparison by definition. Such a difference is counted only if an override
    /// makes it unexpected.
    package let isByDefinition: Bool
    /// The configuration with which an operator decides that the rule's differences do not matter to the app; `nil` if
    /// no configuration can decide it.
    package let settlement: String?
    /// `true` if a client may notice an expected difference, because what it is served differs. `false` if both sides
    /// are the same when they are requested again, if the difference is only in the records, and for the time of the
    /// request.
    package let isNoticeable: Bool
    /// URL of the public page that the rule is based on; `nil` if it is based on observation, see ``observed``.
    package let source: String?
    package let explanation: String

    /// Basis of rules without a public page.
    package static let observed = "observed in genuine responses"

    enum Trait {
        case informational, volatile, byDefinition, unnoticeable
    }

    init(
        _ name: String, _ verdict: Class, _ parts: [ComparisonFinding.Part],
        _ subjects: [ComparisonFinding.Subject] = [], when conditions: [ComparisonCondition] = [],
        is traits: [Trait] = [], settlement: String? = nil, source: RuleSource? = nil, _ explanation: String
    ) {
        (self.name, self.verdict, self.parts, self.subjects) = (name, verdict, parts, subjects)
        (self.conditions, self.settlement, self.explanation) = (conditions, settlement, explanation)
        self.source = source?.rawValue
        (isInformational, isVolatile) = (traits.contains(.informational), traits.contains(.volatile))
        (isByDefinition, isNoticeable) = (traits.contains(.byDefinition), !traits.contains(.unnoticeable))
    }

    func matches(_ finding: ComparisonFinding, _ facts: ComparisonFacts) -> Bool {
        parts.contains(finding.part) && covers(finding.subject)
            && conditions.allSatisfy { $0.holds(finding, facts) }
    }

    /// A rule without subjects applies to all fields, but not to rows or their order.
    private func covers(_ subject: ComparisonFinding.Subject) -> Bool {
        if case .field = subject, subjects.isEmpty { return true }
        return subjects.contains(subject)
    }
}

extension [ComparisonFinding.Subject] {
    static func fields(_ fields: RowField...) -> Self { fields.map { .field($0.name) } }
}

enum RuleSource: String {
    case answer = "https://developer.apple.com/documentation/appstorereceipts/responsebody"
    case request = "https://developer.apple.com/documentation/appstorereceipts/requestbody"
    case answerStatus = "https://developer.apple.com/documentation/appstorereceipts/status"
    case latest = "https://developer.apple.com/documentation/appstorereceipts/responsebody/latest_receipt_info"
    case history = "https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history"
    case historyResponse = "https://developer.apple.com/documentation/appstoreserverapi/historyresponse"
    case transaction = "https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload"
    case renewal = "https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload"
    case ownership = "https://developer.apple.com/documentation/appstoreserverapi/inappownershiptype"
    case token = "https://developer.apple.com/documentation/appstoreserverapi/appaccounttoken"
    case discount = "https://developer.apple.com/documentation/appstoreserverapi/offerdiscounttype"
    case priceIncrease = "https://developer.apple.com/documentation/appstoreserverapi/priceincreasestatus"
    case status = "https://developer.apple.com/documentation/appstoreserverapi/status"
}
