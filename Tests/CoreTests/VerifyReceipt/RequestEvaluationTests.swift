import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Logging
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Request evaluation")
struct RequestEvaluationTests {
    /// What happened, in order.
    final class Steps: Sendable {
        private let steps = Mutex<[String]>([])
        var all: [String] { steps.withLock { $0 } }

        func append(_ step: String) { steps.withLock { $0.append(step) } }
    }

    /// A source with a fixed result.
    struct ScriptedSource: ResponseSource {
        let name: AnswerSource
        let steps: Steps
        var script = AnswerPolicyTests.Script.skips
        /// Whether the client disconnects while this source is asked.
        var disconnects = false

        func answer(_ request: ResolvedRequest, on turn: AnswerPolicy.Turn) async -> SourceOutcome {
            steps.append(name.rawValue)
            if disconnects { withUnsafeCurrentTask { $0?.cancel() } }
            return script.result(of: name)
        }
    }

    struct Recorder: ResponseObserver {
        let name: String
        let steps: Steps

        func observe(_ response: SourcedAnswer, to request: ResolvedRequest) {
            steps.append("\(name): \(response.source)")
        }
    }

    private let steps = Steps()

    /// Evaluates a request with the sources in the given order, and returns the status and the source of the response.
    private func evaluate(
        _ sources: [ScriptedSource], isDisconnected: Bool = false, _ change: (inout AppConfiguration) -> Void = { _ in }
    ) async throws -> String {
        var settings = ProxyConfiguration(trusting: try SharedSimulator.pki)
        var app = AppConfiguration(bundleId: BundleIdentifier(rawValue: SimulatedApp.first.bundleId))
        app.answer = sources.map(\.name)
        change(&app)
        settings.apps = [app]
        let evaluation = try evaluation(settings, sources)
        let request = try request(of: app, settings)
        return await Task {
            if isDisconnected { withUnsafeCurrentTask { $0?.cancel() } }
            let reply = await evaluation.answer(request)
            return "\(reply.answer.status.rawValue) \(reply.source)"
        }.value
    }

    private func evaluation(_ settings: ProxyConfiguration, _ sources: [ScriptedSource]) throws -> RequestEvaluation {
        func source(_ name: AnswerSource) -> ScriptedSource {
            sources.first { $0.name == name } ?? ScriptedSource(name: name, steps: steps)
        }
        let components = try ServiceComponents(
            settings: settings, transport: nil, logger: .silent, now: { SharedSimulator.noon })
        return RequestEvaluation(
            sources: ResponseSources(
                apple: source(.apple), api: source(.api), stored: source(.stored), receipt: source(.receipt)),
            rules: AppRules(components), archive: nil,
            observers: [Recorder(name: "first", steps: steps), Recorder(name: "second", steps: steps)],
            logger: RequestLogger(.silent, apps: components.apps))
    }

    private func request(of app: AppConfiguration, _ settings: ProxyConfiguration) throws -> ResolvedRequest {
        let receipt = try SharedSimulator.receipt(.activeSubscription)
        let request = try VerifyReceiptRequest(body: Question.body(receipt.base64))
        let decoder = ReceiptDecoder(trust: try TrustStore(settings: settings), profile: .apple)
        let text = request.receiptText.reveal()
        let verification = ReceiptVerification(of: text, by: decoder)
        return ResolvedRequest(
            request, on: .auto, verification, itemForRules: verification.authenticItem,
            isReplay: false, app: app, options: .init(), cacheKey: nil, now: SharedSimulator.noon,
            deadline: RequestDeadline(.init(.seconds(9))))
    }

    private func source(
        _ name: AnswerSource, _ script: AnswerPolicyTests.Script, disconnects: Bool = false
    ) -> ScriptedSource {
        ScriptedSource(name: name, steps: steps, script: script, disconnects: disconnects)
    }

    @Test("Observers are notified in order, once, of the response that a source gave")
    func observers() async throws {
        #expect(try await evaluate([source(.stored, .skips), source(.api, .answers)]) == "0 api")
        #expect(steps.all == ["stored", "api", "first: api", "second: api"])
    }

    @Test("Observers are not notified if no source has a response")
    func fallback() async throws {
        let reply = try await evaluate([
            source(.apple, .unavailable(.internalDataAccess)), source(.receipt, .unavailable(.temporarilyUnavailable)),
        ])
        #expect(reply == "21005 receipt")
        #expect(steps.all == ["apple", "receipt"])
    }

    @Test("No source is asked if a required password is missing")
    func missingPassword() async throws {
        let apple = source(.apple, .answers)
        #expect(try await evaluate([apple]) { $0.clientPassword = .required } == "21004 receipt")
        #expect(steps.all == [])
    }

    @Test("After a disconnect no source is asked that makes calls, and none after it")
    func disconnect() async throws {
        let outage = AnswerPolicyTests.Script.unavailable(.internalDataAccess)
        let sources = [source(.stored, .skips), source(.api, outage), source(.receipt, .answers)]
        #expect(try await evaluate(sources, isDisconnected: true) == "21005 api")
        #expect(steps.all == ["stored"])
    }

    @Test("A disconnect during a call ends the request with a retryable 21005 instead of the fallback")
    func disconnectDuringCall() async throws {
        let outage = AnswerPolicyTests.Script.unavailable(.internalDataAccess)
        let api = source(.api, outage, disconnects: true)
        #expect(try await evaluate([api, source(.apple, .answers)]) == "21005 api")
        #expect(try await evaluate([api]) == "21005 api")
        #expect(steps.all == ["api", "api"])
    }

    @Test("A response is returned although the client has disconnected, because a disconnect may be a false positive")
    func lateAnswer() async throws {
        #expect(try await evaluate([source(.apple, .answers, disconnects: true)]) == "0 apple")
        #expect(try await evaluate([source(.receipt, .answers)], isDisconnected: true) == "0 receipt")
        #expect(steps.all.suffix(3) == ["receipt", "first: receipt", "second: receipt"])
    }
}
