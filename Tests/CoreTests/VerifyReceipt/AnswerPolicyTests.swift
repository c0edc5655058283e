import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import Testing

@Suite("Answer policy")
struct AnswerPolicyTests {
    /// The scripted result of one source.
    enum Script: Sendable {
        case answers
        case unavailable(VerifyReceiptStatus)
        case skips
        case denies(VerifyReceiptStatus)

        func result(of source: AnswerSource) -> SourceOutcome {
            switch self {
            case .answers: .answered(Self.reply(.valid, source))
            case .unavailable(let status): .unavailable(fallback: Self.reply(status, source))
            case .skips: .notAttempted
            case .denies(let status): .requiresUpstream(fallback: Self.reply(status, source))
            }
        }

        private static func reply(_ status: VerifyReceiptStatus, _ source: AnswerSource) -> SourcedAnswer {
            SourcedAnswer(.failure(status), source: source, environment: .production)
        }
    }

    /// Runs the policy and describes its steps: the name of each source that is asked, with `?` if it is only a
    /// fallback, `archive` where Apple's last good response is preferred, and what the client gets if no archive has
    /// a response.
    private func steps(_ script: KeyValuePairs<AnswerSource, Script>, isAuthentic: Bool = true) -> String {
        var policy = AnswerPolicy(sources: script.map(\.key), isAuthentic: isAuthentic)
        var steps: [String] = []
        while let turn = policy.next() {
            if turn.prefersArchive { steps.append("archive") }
            steps.append(turn.source.rawValue + (turn.isFallback ? "?" : ""))
            guard let result = script.first(where: { $0.key == turn.source })?.value.result(of: turn.source) else {
                continue
            }
            if let response = policy.response(in: result, from: turn.source) {
                return (steps + ["= \(response.source.rawValue)"]).joined(separator: " ")
            }
        }
        if policy.archiveMayAnswer { steps.append("archive") }
        let fallback = policy.fallback.map { "\($0.answer.status.rawValue) \($0.source.rawValue)" }
        return (steps + ["= \(fallback ?? "nothing from \(policy.last.rawValue)")"]).joined(separator: " ")
    }

    @Test("The first response ends the request, and each source is asked once, in the order of the app")
    func order() {
        #expect(steps([.apple: .answers, .receipt: .answers]) == "apple = apple")
        #expect(steps([.receipt: .answers, .apple: .answers]) == "receipt = receipt")
        #expect(
            steps([.stored: .skips, .api: .unavailable(.temporarilyUnavailable), .apple: .answers])
                == "stored api apple = apple")
        #expect(steps([.api: .unavailable(.temporarilyUnavailable), .stored: .answers]) == "api stored? = stored")
        #expect(steps([.stored: .skips, .receipt: .answers]) == "stored receipt? = receipt")
    }

    @Test("The first fallback is returned if no source has a response")
    func fallbacks() {
        #expect(steps([.apple: .unavailable(.internalDataAccess)]) == "apple archive = 21009 apple")
        #expect(
            steps([.api: .unavailable(.accountNotFound), .apple: .unavailable(.internalDataAccess)])
                == "api apple archive = 21010 api")
        #expect(steps([.stored: .skips]) == "stored = nothing from stored")
        #expect(steps([.stored: .skips, .api: .skips]) == "stored api = nothing from api")
        #expect(steps([:]) == "= nothing from receipt")
    }

    @Test(
        "A receipt that may be stale replaces a temporary status of Apple's with a retryable one, and no other status")
    func staleReceipt() {
        let stale = Script.unavailable(.temporarilyUnavailable)
        #expect(
            steps([.apple: .unavailable(.internalDataAccess), .receipt: stale])
                == "apple archive receipt? archive = 21005 receipt")
        #expect(steps([.api: .unavailable(.accountNotFound), .receipt: stale]) == "api receipt? = 21010 api")
        #expect(steps([.stored: .skips, .receipt: stale]) == "stored receipt? = 21005 receipt")
        // The source `receipt` knows nothing about a receipt that is not authentic.
        #expect(
            steps([.apple: .unavailable(.internalDataAccess), .receipt: stale], isAuthentic: false)
                == "apple archive receipt? archive = 21009 apple")
    }

    @Test("After a denial of Apple's the receipt alone never answers, but later sources of Apple's may")
    func denial() {
        let denied = Script.denies(.accountNotFound)
        #expect(steps([.api: denied, .receipt: .answers]) == "api = 21010 api")
        #expect(steps([.api: denied, .receipt: .answers, .apple: .answers]) == "api apple = apple")
        #expect(
            steps([.api: denied, .apple: .unavailable(.internalDataAccess), .receipt: .answers])
                == "api apple archive = 21010 api")
        #expect(steps([.api: denied, .stored: .answers]) == "api stored? = stored")
        #expect(
            steps([.apple: .unavailable(.internalDataAccess), .api: denied, .receipt: .answers])
                == "apple api archive = 21009 apple")
    }

    @Test("The archive is preferred to the receipt once Apple was asked in vain and no source that calls is left")
    func archive() {
        let outage = Script.unavailable(.temporarilyUnavailable)
        #expect(steps([.apple: outage, .receipt: .answers]) == "apple archive receipt? = receipt")
        #expect(steps([.api: outage, .receipt: .answers]) == "api receipt? = receipt")
        #expect(steps([.receipt: .skips, .apple: .skips]) == "receipt apple archive = nothing from apple")
        #expect(steps([.apple: outage, .receipt: .skips, .api: .answers]) == "apple receipt? api = api")
        #expect(
            steps([.apple: outage, .api: outage, .stored: .skips, .receipt: .answers])
                == "apple api stored? archive receipt? = receipt")
    }

    @Test("A turn names the later sources that share the time, and the first source that makes calls")
    func turns() {
        var policy = AnswerPolicy(sources: [.stored, .api, .apple, .receipt], isAuthentic: true)
        var turns: [AnswerPolicy.Turn] = []
        while let turn = policy.next() { turns.append(turn) }
        #expect(turns.map(\.laterCalls) == [2, 1, 0, 0])
        #expect(turns.map(\.firstCall) == [nil, .api, .api, .api])
        #expect(turns.map(\.isFallback) == [false, false, false, true])
        #expect(policy.firstCall == .api)
        #expect(AnswerPolicy(sources: [.stored, .receipt], isAuthentic: true).firstCall == nil)
    }

    @Test("For every order of sources and all results, no step breaks a rule of the policy")
    func everyTransition() {
        let results: [Script] = [
            .answers, .skips, .unavailable(.temporarilyUnavailable), .unavailable(.internalDataAccess),
            .unavailable(.accountNotFound), .denies(.accountNotFound),
        ]
        var violations: [String] = []
        for sources in Self.orders(of: AnswerSource.allCases) {
            for code in 0..<Self.power(results.count, sources.count) {
                let script = sources.indices.map { results[code / Self.power(results.count, $0) % results.count] }
                if let rule = violation(sources, script) { violations.append("\(sources) \(script): \(rule)") }
            }
        }
        #expect(violations.isEmpty)
    }

    /// Runs one script and returns the first rule that a step breaks.
    private func violation(_ sources: [AnswerSource], _ script: [Script]) -> String? {
        var policy = AnswerPolicy(sources: sources, isAuthentic: true)
        var (asked, offers): ([AnswerSource], [SourcedAnswer]) = ([], [])
        var isDenied = false
        while let turn = policy.next(), let index = sources.firstIndex(of: turn.source) {
            if turn.source == .receipt, isDenied { return "the receipt answers after a denial" }
            let mayUseArchive = turn.source == .receipt && asked.contains(.apple) && turn.laterCalls == 0
            if turn.prefersArchive != mayUseArchive { return "the archive" }
            asked.append(turn.source)
            let result = script[index].result(of: turn.source)
            let response = policy.response(in: result, from: turn.source)
            switch result {
            case .answered: return response?.source == turn.source ? nil : "the response is lost"
            case .unavailable(let reply): offers.append(reply)
            case .requiresUpstream(let reply):
                offers.append(reply)
                isDenied = true
            case .notAttempted: break
            }
            if response != nil { return "a response from nowhere" }
        }
        let skipped = sources.filter { !asked.contains($0) }
        if asked != sources.filter({ asked.contains($0) }) { return "the order" }
        if skipped != (isDenied && !asked.contains(.receipt) ? sources.filter { $0 == .receipt } : []) {
            return "a source is skipped"
        }
        if policy.archiveMayAnswer != asked.contains(.apple) { return "the archive at the end" }
        guard let first = offers.first else { return policy.fallback == nil ? nil : "a fallback from nowhere" }
        guard let fallback = policy.fallback else { return "no fallback" }
        let replacesTemporary = fallback.source == .receipt && first.answer.status.isTemporary
        return fallback.source == first.source || replacesTemporary ? nil : "the fallback is not the first"
    }

    /// All orders of all selections of the sources.
    private static func orders(of sources: [AnswerSource]) -> [[AnswerSource]] {
        [[]] + sources.flatMap { first in orders(of: sources.filter { $0 != first }).map { [first] + $0 } }
    }

    private static func power(_ base: Int, _ exponent: Int) -> Int {
        (0..<exponent).reduce(1) { value, _ in value * base }
    }
}
