package import Rendering
package import StoreTypes

/// A verdict and where it comes from: what the door turns into a response.
package struct VerifyReceiptResult: Sendable {
    package let answer: VerifyReceiptAnswer
    /// `Receipt-Bridge-Source`
    package let source: AnswerSource
    /// `Receipt-Bridge-Environment`
    package let environment: AppStoreEnvironment
    /// Whose receipt it was, where it is authentic.
    package internal(set) var authenticApp: BundleIdentifier?
    /// Whose way it went, be it by a claim that nobody vouches for.
    package internal(set) var claimedApp: BundleIdentifier?
    /// Transaction ids of the consumables in the records that the answer was made of: an answer does not say what is one.
    package internal(set) var consumables: Set<String> = []

    package init(_ answer: VerifyReceiptAnswer, source: AnswerSource, environment: AppStoreEnvironment) {
        self.answer = answer
        self.source = source
        self.environment = environment
    }
}
