import ReceiptBridgeBase
import ReceiptBridgeResponses

/// Decides which source of an app is asked next, and what the client gets if none has a response. A value without
/// calls and clocks, so that every sequence of results can be tested.
///
/// For example, with `answer: [api, apple, receipt]` the App Store Server API is asked first. If it has no response,
/// Apple's verifyReceipt is asked with the time that is left, and if that has none either, the receipt answers for
/// itself.
///
/// | result of a source | consequence |
/// |---|---|
/// | a response | it is returned |
/// | unavailable | the next source; the first fallback is kept, for example Apple's own 21009 |
/// | `receipt` unavailable, because it may be stale | its retryable 21005 replaces a temporary status of Apple's |
/// | requires upstream | the next source, but never `receipt`; the first fallback is kept |
/// | not attempted | the next source |
///
/// Once Apple was asked in vain, its last good response from the archive is preferred to the source `receipt` and to
/// the fallback, because that response may hold renewals which the receipt does not.
package struct AnswerPolicy: Sendable {
    /// The place of one source among the sources of a request.
    package struct Turn: Sendable, Hashable {
        package let source: AnswerSource
        /// Whether a source before it could have had a better response. Then the source answers only with what cannot
        /// be out of date.
        package let isFallback: Bool
        /// The number of sources after it that make calls. Each needs a share of the time.
        package let laterCalls: Int
        /// The first source that makes calls, of this one and those before it; `nil` if none does.
        package let firstCall: AnswerSource?
        /// Whether Apple's last good response is preferred to this source.
        package let prefersArchive: Bool
    }

    private let sources: [AnswerSource]
    /// Whether the receipt is authentic. Otherwise the source `receipt` says nothing about the purchases.
    private let isAuthentic: Bool
    private var index = 0
    private var receiptMayAnswer = true
    /// What the client gets if no source has a response; `nil` if no source has offered anything.
    package private(set) var fallback: SourcedAnswer?
    /// Whether Apple was asked and had no response, so that its last good one may answer.
    package private(set) var archiveMayAnswer = false

    package init(sources: [AnswerSource], isAuthentic: Bool) {
        self.sources = sources
        self.isAuthentic = isAuthentic
    }

    package var firstCall: AnswerSource? { sources.first(where: \.needsUpstream) }

    /// The last source, which a response names if there is neither a response nor a fallback.
    package var last: AnswerSource { sources.last ?? .receipt }

    package mutating func next() -> Turn? {
        while index < sources.count {
            defer { index += 1 }
            let source = sources[index]
            if source == .receipt, !receiptMayAnswer { continue }
            return turn(of: source, at: index)
        }
        return nil
    }

    private func turn(of source: AnswerSource, at index: Int) -> Turn {
        let laterCalls = sources[(index + 1)...].count(where: \.needsUpstream)
        let isFallback =
            switch source {
            case .apple, .api: false
            case .stored: sources[..<index].contains(where: \.needsUpstream)
            case .receipt: index > 0
            }
        return Turn(
            source: source, isFallback: isFallback, laterCalls: laterCalls,
            firstCall: sources[...index].first(where: \.needsUpstream),
            prefersArchive: source == .receipt && archiveMayAnswer && laterCalls == 0)
    }

    /// Takes the result of a source. Returns the response that ends the request; `nil` if the next source is asked.
    package mutating func response(in result: SourceOutcome, from source: AnswerSource) -> SourcedAnswer? {
        switch result {
        case .answered(let response): return response
        // The source `receipt` is unavailable only if the receipt may be stale. That is reported as a retryable 21005
        // of ours, instead of a temporary status of Apple's such as 21009.
        case .unavailable(let reply):
            let isOurs = source == .receipt && isAuthentic
            fallback = isOurs && fallback?.answer.status.isTemporary ?? true ? reply : fallback ?? reply
        case .notAttempted: break
        case .requiresUpstream(let reply):
            fallback = fallback ?? reply
            receiptMayAnswer = false
        }
        if source == .apple { archiveMayAnswer = true }
        return nil
    }
}
