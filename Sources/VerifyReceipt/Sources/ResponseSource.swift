package import AppStoreClients
package import Base
import BridgeConfiguration

/// A source of responses: Apple's verifyReceipt, the App Store Server API, the stored records, or the receipt itself.
package protocol ResponseSource: Sendable {
    /// Asks the source for its response to a request.
    ///
    /// - Parameter turn: the place of the source among the app's sources. It decides how much of the request's time the
    ///   source may use, and whether the response must be certain to be up to date.
    func answer(_ request: ResolvedRequest, on turn: AnswerPolicy.Turn) async -> SourceResult
}

/// The result of one source: a response, or the reason to try the next source.
package enum SourceResult: Sendable {
    case answered(SourceResponse)
    /// The source has no response now. `fallback` is returned if no other source has one.
    case unavailable(fallback: VerifyReceiptResult)
    /// Not attempted: only an immediately available response would have been used.
    case notAttempted
    /// Like ``unavailable(fallback:)``, and the receipt alone must not answer: a source of Apple's denied it, or knows
    /// more.
    case requiresUpstream(fallback: VerifyReceiptResult)
}

/// A response of a source, and what it was made from, for the observers.
package struct SourceResponse: Sendable {
    /// What a response was made from. Indirect, because a request that waits for Apple keeps room for responses.
    package indirect enum Origin: Sendable {
        /// From the request, or from records that are not at hand.
        case rendered
        /// Apple's verifyReceipt returned it, from this environment.
        case apple(UpstreamResponse, from: AppStoreEnvironment)
        /// Apple's verifyReceipt returned it to an earlier request.
        case archived
        /// Rendered from records at hand, see ``DatedRecords/version``.
        case records(version: UInt64)
    }

    package let result: VerifyReceiptResult
    package var origin: Origin
    /// What the response shows; `nil` if only its body says so.
    let purchases: ShownPurchases?

    package init(_ result: VerifyReceiptResult, origin: Origin = .rendered) {
        self.init(result, origin: origin, showing: nil)
    }

    init(_ result: VerifyReceiptResult, origin: Origin, showing purchases: ShownPurchases?) {
        self.result = result
        self.origin = origin
        self.purchases = purchases
    }

    /// Whether Apple wrote the response, now or earlier.
    var isApples: Bool {
        switch origin {
        case .apple, .archived: true
        case .rendered, .records: false
        }
    }
}

extension DatedRecords {
    /// The origin of a response that is rendered from these records.
    var origin: SourceResponse.Origin { version.map { .records(version: $0) } ?? .rendered }
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
        self.apple = apple
        self.api = api
        self.stored = stored
        self.receipt = receipt
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
