/// The class of a comparison rule's differences, instead of the rule's own.
package enum RuleOverride: String, Sendable, Hashable, CaseIterable {
    /// Counted, but not as an unexpected difference.
    case expected
    /// Counted and reported.
    case unexpected
    case ignore
}
