import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeCore
package import ReceiptBridgeComparison
import ReceiptBridgeCryptography
import Foundation
package import Logging
import ReceiptBridgeResponses
import ServiceLifecycle
package import ReceiptBridgeStorage
import Synchronization

/// Compares responses with those of a second source, in the background, and records the differences.
///
/// An app's `shadow` names the second source, `shadowSampling` the part of the app's responses to compare. For example,
/// with `answer: [apple]`, `shadow: api` and `shadowSampling: 0.1` every tenth response of Apple's is compared with one
/// from the App Store Server API. Every response of a `rollout` is compared with Apple's.
///
/// The queue is bounded: if the second source is too slow, comparisons are dropped and counted. Calls to the App Store
/// Server API use a small part of the hourly rate limit, and none of what is reserved for clients. Only the digest of a
/// receipt is stored.
package final class Shadow: Service {
    /// The apps to compare and the service to call, replaced on reload.
    private struct Configured: Sendable {
        let apps: [BundleIdentifier: AppConfiguration]
        let service: VerifyReceiptService

        init(_ settings: ProxyConfiguration, _ service: VerifyReceiptService) {
            let shadowed = settings.apps.filter(\.isCompared)
            apps = Dictionary(
                shadowed.compactMap { app in app.bundleId.map { ($0, app) } }, uniquingKeysWith: { _, last in last })
            self.service = service
        }
    }

    private let configured: Mutex<Configured>
    private let now: @Sendable () -> Timestamp
    private let queue: ShadowQueue
    private let repeatDelay: Duration
    private let findings: ShadowFindings

    private static let workers = 8
    package static let days: Int64 = 90
    /// The pause before a second comparison, in which volatile differences may disappear.
    private static let repeatDelay = Duration.seconds(2).atTestSpeed()

    /// Does nothing if no app has a `shadow` or a `rollout`.
    package init(
        settings: ProxyConfiguration, service: VerifyReceiptService, store: (any Store)?, logger: Logger,
        queueCapacity: Int? = nil, repeatDelay: Duration? = nil, now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        configured = Mutex(Configured(settings, service))
        queue = ShadowQueue(capacity: queueCapacity ?? ShadowQueue.capacity)
        self.repeatDelay = repeatDelay ?? Self.repeatDelay
        self.now = now
        findings = ShadowFindings(store: store, logger: logger, now: now)
    }

    package func apply(_ settings: ProxyConfiguration, service: VerifyReceiptService) {
        let new = Configured(settings, service)
        configured.withLock { $0 = new }
    }

    /// Whether any app has a `shadow` or a `rollout`.
    package var hasApps: Bool { configured.withLock { !$0.apps.isEmpty } }

    private func app(_ bundleId: BundleIdentifier) -> AppConfiguration? { configured.withLock { $0.apps[bundleId] } }

    /// Queues the comparison of a response that was sent, if its app has a shadow. Returns at once.
    package func observe(_ body: [UInt8], route: UpstreamRouter.Route, reply: SourcedAnswer) {
        guard let bundleId = reply.authenticApp, let app = app(bundleId) else { return }
        // The queue has a limit of its own.
        var reply = reply
        reply.memory = nil
        if let rollout = reply.rollout { return observe(rollout, body, route: route, reply: reply, of: bundleId) }
        guard let shadow = app.shadow,
            reply.source != shadow, reply.source != .receipt || app.answer.first == .receipt,
            reply.answer.status.canBeCompared,
            app.shadowSampling >= 1 || Double.random(in: 0..<1) < app.shadowSampling
        else { return }
        _ = add(ShadowJob(body: Redacted(body), route: route, reply: reply, app: bundleId, shadow: shadow, time: now()))
    }

    private func observe(
        _ rollout: RolloutConfiguration, _ body: [UInt8], route: UpstreamRouter.Route, reply: SourcedAnswer,
        of bundleId: BundleIdentifier
    ) {
        guard reply.source == rollout.source, reply.answer.status.canBeCompared else {
            return count(RolloutLabel.otherSource, of: bundleId)
        }
        rollouts.willCompare(bundleId, rollout)
        let job = ShadowJob(
            body: Redacted(body), route: route, reply: reply, app: bundleId, shadow: .apple, time: now(),
            rollout: rollout)
        guard !add(job) else { return }
        rollouts.cannotCompare(bundleId, rollout)
        count(RolloutLabel.dropped, of: bundleId)
    }

    /// Adds a comparison to the queue. Returns false if the queue is full; then the comparison is counted as dropped.
    private func add(_ job: ShadowJob) -> Bool {
        if queue.add(job) { return true }
        count(ComparisonLabel.dropped, of: job.app)
        findings.change { $0.addFailure("dropped", of: job.scope) }
        return false
    }

    private var rollouts: RolloutRegistry { configured.withLock { $0.service }.rollouts }

    /// Removes the receipts that the page shows side by side.
    func removePairs() { findings.removePairs() }

    /// Compares until the process shuts down. Queued comparisons are dropped then; results are written to the store.
    package func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.findings.writePeriodically() }
            await withGracefulShutdownHandler {
                await withTaskGroup(of: Void.self) { workers in
                    var running = 0
                    for await job in self.queue.jobs {
                        self.queue.removed(job)
                        if Task.isShuttingDownGracefully { continue }
                        if running >= Self.workers {
                            await workers.next()
                            running -= 1
                        }
                        workers.addTask(priority: .background) { await self.compare(job) }
                        running += 1
                    }
                }
            } onGracefulShutdown: {
                self.queue.finish()
            }
            group.cancelAll()
        }
        await findings.flush()
    }

    // MARK: - Comparing

    /// Compares one response. If a difference is unexpected or volatile, both sources are called again after a pause,
    /// because the first two responses were not rendered at the same time.
    private func compare(_ job: ShadowJob) async {
        var scope = job.scope
        do throws(ShadowFailure) {
            var outcome = try await outcome(of: job, against: job.reply, at: job.time)
            // One source may already know something that the other does not, or that it has cached an older state of.
            if outcome.differences.contains(where: { $0.isVolatile || $0.verdict == .unexpected }) {
                try? await Task.sleep(for: repeatDelay)
                let repeated = await fetch(job, job.reply.source, isFresh: true)
                if repeated.source == job.reply.source {
                    outcome = try await self.outcome(of: job, against: repeated, at: now(), isFresh: true)
                }
            }
            scope = ComparisonReport.Scope(
                bundleId: job.app.rawValue, environment: outcome.verifyReceipt.environment ?? scope.environment)
            let (differences, time) = (outcome.differences, now())
            findings.change { $0.add(differences, of: scope, customer: outcome.customer, at: time) }
            count(differences, of: job.app)
            if let rollout = job.rollout { record(outcome, scope.environment, of: job.app, rollout) }
            if !differences.isEmpty { findings.offer(outcome) }
        } catch {
            findings.change { $0.addFailure(error.code, of: scope) }
            count(ComparisonLabel.failed, of: job.app)
            guard let rollout = job.rollout else { return }
            rollouts.cannotCompare(job.app, rollout)
            count(RolloutLabel.failed, of: job.app)
        }
    }

    private func record(
        _ outcome: ShadowOutcome, _ environment: String, of app: BundleIdentifier, _ rollout: RolloutConfiguration
    ) {
        let isDifferent = outcome.differences.contains { $0.verdict == .unexpected }
        rollouts.compared(outcome.customer, in: environment, of: app, rollout, isDifferent: isDifferent)
        count(isDifferent ? RolloutLabel.different : .equal, of: app)
    }

    private func count(_ outcome: RolloutLabel, of app: BundleIdentifier) {
        configured.withLock { $0.service }.counts[app].rolloutResponses.add(outcome)
    }

    private func count(_ outcome: ComparisonLabel, of app: BundleIdentifier) {
        configured.withLock { $0.service }.counts[app].comparisons.add(outcome)
    }

    private func count(_ differences: [Difference], of app: BundleIdentifier) {
        count(differences.isEmpty ? ComparisonLabel.equal : .different, of: app)
        let counts = configured.withLock { $0.service }.counts[app]
        for difference in differences {
            counts.differences.add(difference.verdict == .unexpected ? DifferenceLabel.unexpected : .expected)
        }
    }

    package var waiting: Int { queue.count }

    /// At background priority. Such requests are not counted as a client's.
    private func fetch(_ job: ShadowJob, _ source: AnswerSource, isFresh: Bool) async -> SourcedAnswer {
        await configured.withLock { $0.service }.answer(
            body: job.body.reveal(), route: job.route,
            requestOptions: .init(sources: [source], priority: .background, isFresh: isFresh))
    }

    /// The response of Apple's verifyReceipt is always the left side, whichever of the two the client got.
    private func outcome(
        of job: ShadowJob, against first: SourcedAnswer, at time: Timestamp, isFresh: Bool = false
    ) async throws(ShadowFailure) -> ShadowOutcome {
        let second = await fetch(job, job.shadow, isFresh: isFresh)
        // A receipt without any transaction id is answered from itself, by every source.
        guard second.source == job.shadow || second.source == .receipt, second.answer.status.canBeCompared else {
            throw ShadowFailure("shadow.\(second.answer.status.rawValue)")
        }
        let request = try? configured.withLock { $0.service }.read(job.body.reveal())
        let digest = request.map(Self.digest) ?? ""
        var context = ComparisonContext(receipt: digest)
        context.now = time
        context.timeDifference = now().milliseconds - time.milliseconds
        context.isAuthentic = true
        context.excludesOldTransactions = request?.excludesOldTransactions ?? false
        context.overrides = app(job.app)?.comparisonRules ?? [:]
        context.consumables = (job.shadow == .apple ? first : second).consumables
        do throws(ComparisonError) {
            let left = try ComparedAnswer(verifyReceipt: (job.shadow == .apple ? second : first).answer.body)
            let right = try ComparedAnswer(
                verifyReceipt: (job.shadow == .apple ? first : second).answer.body, at: "serverAPI")
            let comparison = Comparison(verifyReceipt: left, serverAPI: right, context: context)
            return ShadowOutcome(
                receipt: digest, customer: ComparedCustomer.digest(left, right, receipt: digest),
                differences: comparison.differences, verifyReceipt: left, serverAPI: right)
        } catch {
            throw ShadowFailure("\(error.place.prefix { $0 != "." }).\(error.code.rawValue)")
        }
    }

    /// The SHA-256 digest of the receipt's bytes, in hexadecimal.
    private static func digest(of request: VerifyReceiptRequest) -> String {
        let text = request.receiptText.reveal()
        let bytes = Data(base64Encoded: Data(text), options: .ignoreUnknownCharacters).map { [UInt8]($0) }
        return SHA.hex(bytes ?? text, with: .sha256)
    }

    package func report(days: Int64 = Shadow.days) async throws(StorageError) -> ComparisonReport {
        var report = try await findings.report(days: days)
        report.rollouts = rollouts.reports
        return report
    }
}

/// Two responses that were compared, and their differences.
struct ShadowOutcome: Sendable {
    let receipt: String
    /// The customer's digest, see ``ComparedCustomer``.
    let customer: Int64
    let differences: [Difference]
    let verifyReceipt: ComparedAnswer
    let serverAPI: ComparedAnswer
}

/// The reason why two responses could not be compared, as a short code for the statistics.
struct ShadowFailure: Error {
    let code: String

    init(_ code: String) { self.code = code }
}
