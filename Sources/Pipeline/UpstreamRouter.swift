package import AppStore
package import StoreTypes

/// Which of Apple's endpoints is asked next, and when to stop: decided in values, without sockets and clocks.
///
/// Production first, sandbox on 21007, the second answer's status checked too. What Apple calls temporary is asked
/// again, a bounded number of times; what Apple calls final goes back.
package struct UpstreamRouter: Sendable {
    /// The endpoint that the client meant.
    package enum Route: Sendable, Hashable {
        /// Production, then sandbox on 21007; the client never sees 21007 or 21008.
        case auto
        /// Exactly this one, with the 21007 or 21008 that Apple gives for the other's receipts.
        case only(AppStoreEnvironment)
    }

    package enum Instruction: Sendable {
        /// Ask this endpoint, after so many milliseconds.
        case ask(AppStoreEnvironment, afterMilliseconds: Int64)
        /// Apple's answer, to go back as it is.
        case pass(UpstreamResponse, from: AppStoreEnvironment)
        /// Apple calls it a receipt of the sandbox, which is not asked about it.
        case sandboxDenied
        /// Apple has no answer now. `last` is what it said instead, to go back where nothing else answers either.
        case unavailable(last: UpstreamResponse?, from: AppStoreEnvironment, reason: String)
    }

    /// Milliseconds before the first and the second repetition.
    private static let pauses: [Int64] = [100, 400]

    private let route: Route
    private let isVerifiedHere: Bool
    private let followsToSandbox: Bool
    private var environment: AppStoreEnvironment
    private var repetitions = 0
    private var malformedAnswers = 0
    /// Why there was no answer the last time.
    private var failure: String?
    /// What Apple said last that was no verdict; a later outage does not take it back.
    private var last: UpstreamResponse?

    /// - Parameters:
    ///   - isVerifiedHere: the receipt is authentic by our own check, so that Apple's 21002 cannot be meant.
    ///   - followsToSandbox: false if the app takes no sandbox receipts; then 21007 ends the walk.
    package init(route: Route, isVerifiedHere: Bool, followsToSandbox: Bool = true) {
        self.route = route
        self.isVerifiedHere = isVerifiedHere
        self.followsToSandbox = followsToSandbox
        switch route {
        case .auto: environment = .production
        case .only(let environment): self.environment = environment
        }
    }

    package var first: Instruction { .ask(environment, afterMilliseconds: 0) }

    /// What follows from a reply to the last question.
    package mutating func received(_ reply: VerifyReceiptReply) -> Instruction {
        switch reply {
        case .answer(let answer): received(answer)
        case .outage(let failure) where failure.isRefusal: refused(failure)
        case .outage(let failure):
            again(unless: !failure.isTemporary, reason: "\(failure)", after: failure.retryAfter ?? .zero)
        }
    }

    private mutating func received(_ answer: UpstreamResponse) -> Instruction {
        switch answer.status {
        case .sandboxReceipt: redirect(.sandbox, answer)
        case .productionReceipt: redirect(.production, answer)
        case .malformedReceipt where isVerifiedHere: malformed(answer)
        case _ where answer.isTransient: temporary(answer)
        default: .pass(answer, from: environment)
        }
    }

    /// 21007 and 21008: the other endpoint's receipt.
    private mutating func redirect(_ other: AppStoreEnvironment, _ answer: UpstreamResponse) -> Instruction {
        if other == environment {
            return .unavailable(
                last: nil, from: environment, reason: "Apple sends \(environment) receipts away from \(environment)")
        }
        guard route == .auto else { return .pass(answer, from: environment) }
        guard environment == .production else {
            return .unavailable(last: nil, from: environment, reason: "both of Apple's endpoints send the receipt away")
        }
        guard followsToSandbox else { return .sandboxDenied }
        environment = other
        // That was of the endpoint that is not the receipt's.
        last = nil
        return .ask(other, afterMilliseconds: 0)
    }

    private mutating func temporary(_ answer: UpstreamResponse) -> Instruction {
        last = answer
        return again(unless: false, reason: "Apple says \(answer.status.rawValue)")
    }

    /// One repetition, then it is a fault of Apple's.
    private mutating func malformed(_ answer: UpstreamResponse) -> Instruction {
        malformedAnswers += 1
        let reason = "Apple calls malformed what is authentic here"
        guard malformedAnswers == 1 else { return .unavailable(last: nil, from: environment, reason: reason) }
        return again(unless: false, reason: reason)
    }

    /// That Apple is not asked now says less than what it failed of before.
    private func refused(_ refusal: UpstreamFailure) -> Instruction {
        .unavailable(last: last, from: environment, reason: failure ?? "\(refusal)")
    }

    /// What follows where no time is left for the last question.
    package var outOfTime: Instruction {
        .unavailable(last: last, from: environment, reason: failure ?? "no time left to ask")
    }

    /// - Parameter requested: how long the service asks to wait; what is longer than the client's time ends the walk.
    private mutating func again(
        unless isFinal: Bool, reason: String, after requested: Duration = .zero
    ) -> Instruction {
        guard !isFinal, repetitions < Self.pauses.count else {
            return .unavailable(last: last, from: environment, reason: reason)
        }
        repetitions += 1
        failure = reason
        let pause = max(Self.pauses[repetitions - 1], Int64(requested / .milliseconds(1)))
        return .ask(environment, afterMilliseconds: pause)
    }
}
