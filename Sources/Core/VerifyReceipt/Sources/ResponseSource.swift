/// A source of responses: Apple's verifyReceipt, the App Store Server API, the stored records, or the receipt itself.
package protocol ResponseSource: Sendable {
    /// - Parameter turn: decides how much of the request's time the source may use, and whether the response must be
    ///   certain to be up to date.
    func answer(_ request: ResolvedRequest, on turn: AnswerPolicy.Turn) async -> SourceOutcome
}

/// The result of one source: a response, or the reason to try the next source.
package enum SourceOutcome: Sendable {
    case answered(SourcedAnswer)
    /// The source has no response now. `fallback` is returned if no other source has one.
    case unavailable(fallback: SourcedAnswer)
    /// Not attempted: only an immediately available response would have been used.
    case notAttempted
    /// Like ``unavailable(fallback:)``, and the receipt alone must not answer: a source of Apple's denied it, or knows
    /// more.
    case requiresUpstream(fallback: SourcedAnswer)
}

extension DatedRecords {
    var origin: SourcedAnswer.Origin { version.map { .records(version: $0) } ?? .rendered }
}

/// The sources of a configuration, by name.
package struct ResponseSources: Sendable {
    let apple: any ResponseSource
    let api: any ResponseSource
    let stored: any ResponseSource
    let receipt: any ResponseSource

    package init(
        apple: any ResponseSource, api: any ResponseSource, stored: any ResponseSource, receipt: any ResponseSource
    ) {
        (self.apple, self.api, self.stored, self.receipt) = (apple, api, stored, receipt)
    }

    subscript(source: AnswerSource) -> any ResponseSource {
        switch source {
        case .apple: apple
        case .api: api
        case .stored: stored
        case .receipt: receipt
        }
    }
}
