import AppStore
package import Comparison
import Cryptography
import Foundation
package import Ledger
package import Logging
package import Pipeline
import Rendering
import ServiceLifecycle
package import StoreTypes
import Synchronization
import Telemetry

/// Asks a second source about what was answered, off the way of the answer, and remembers where the two differ.
///
/// An app's `shadow` names the source, `shadowSampling` the part of its answers. What waits is bounded: where the second
/// source does not keep up, comparisons are dropped and counted. Calls to the App Store Server API are a small part of the
/// hour's budget, and never of what is reserved for clients. Of a receipt only its digest is written down.
package final class Shadow: Service {
    /// What is configured now.
    private struct Configured: Sendable {
        let apps: [BundleIdentifier: AppConfiguration]
        let pipeline: VerifyReceiptService

        init(_ settings: ProxyConfiguration, _ pipeline: VerifyReceiptService) {
            let shadowed = settings.apps.filter { $0.shadow != nil && $0.shadowSampling > 0 }
            apps = Dictionary(
                shadowed.compactMap { app in app.bundleId.map { ($0, app) } }, uniquingKeysWith: { _, last in last })
            self.pipeline = pipeline
        }
    }

    private let configured: Mutex<Configured>
    private let store: Store?
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let queue = ShadowQueue()
    private let findings = Mutex(ShadowFindings())
    private let samples = Mutex(PairSamples())
    /// Everything since the start, where there is no store.
    private let unstored = Mutex(ComparisonSummary())

    /// Comparisons at the same time.
    private static let workers = 8
    /// Receipts that the page shows side by side; in memory only.
    private static let shownPairs = 40
    /// Days that are shown.
    package static let days: Int64 = 90
    /// How long volatile differences are given to go away.
    private static let timeout = Duration.seconds(2)

    /// Compares nothing where no app has a shadow.
    package init(
        settings: ProxyConfiguration, pipeline: VerifyReceiptService, store: Store?, logger: Logger,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        configured = Mutex(Configured(settings, pipeline))
        self.store = store
        self.now = now
        self.logger = logger
    }

    /// From now on it goes by these.
    package func apply(_ settings: ProxyConfiguration, pipeline: VerifyReceiptService) {
        let new = Configured(settings, pipeline)
        configured.withLock { $0 = new }
    }

    /// Whether any app has a shadow.
    package var hasApps: Bool { configured.withLock { !$0.apps.isEmpty } }

    private func app(_ bundleId: BundleIdentifier) -> AppConfiguration? { configured.withLock { $0.apps[bundleId] } }

    /// Remembers an answer that was given, where its app wants that, and returns at once.
    package func saw(_ body: [UInt8], route: UpstreamRouter.Route, reply: VerifyReceiptResult) {
        guard let bundleId = reply.authenticApp, let app = app(bundleId), let shadow = app.shadow,
            reply.source != shadow, reply.source != .receipt || app.answer.first == .receipt,
            reply.answer.status.canBeCompared,
            app.shadowSampling >= 1 || Double.random(in: 0..<1) < app.shadowSampling
        else { return }
        let job = ShadowJob(
            body: Redacted(body), route: route, reply: reply, app: bundleId, shadow: shadow, time: now())
        guard !queue.add(job) else { return }
        count(.dropped, of: bundleId)
        findings.withLock { $0.addFailure("dropped", of: job.scope) }
    }

    /// Forgets the receipts that the page shows side by side.
    package func removePairs() { samples.withLock { $0 = PairSamples() } }

    /// Until the process is asked to stop; what waits then is dropped, what was found is written down.
    package func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.writeDown() }
            await withGracefulShutdownHandler {
                await withTaskGroup(of: Void.self) { workers in
                    var running = 0
                    for await job in self.queue.jobs {
                        self.queue.took(job)
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
        await flush()
    }

    // MARK: - Comparing

    private func compare(_ job: ShadowJob) async {
        var scope = job.scope
        do throws(ShadowFailure) {
            var outcome = try await outcome(of: job, against: job.reply, at: job.time)
            // The one may be news that the other has not heard, or does not remember from moments ago.
            if outcome.differences.contains(where: { $0.isVolatile || $0.verdict == .unexpected }) {
                try? await Task.sleep(for: Self.timeout)
                let again = await ask(job, job.reply.source, isFresh: true)
                if again.source == job.reply.source {
                    outcome = try await self.outcome(of: job, against: again, at: now(), isFresh: true)
                }
            }
            scope = ComparisonReport.Scope(
                bundleId: job.app.rawValue, environment: outcome.verifyReceipt.environment ?? scope.environment)
            let (differences, time) = (outcome.differences, now())
            findings.withLock { $0.add(differences, of: scope, customer: outcome.customer, at: time) }
            count(differences, of: job.app)
            if !differences.isEmpty {
                samples.withLock {
                    $0.offer(
                        verifyReceipt: outcome.verifyReceipt, serverAPI: outcome.serverAPI, differences: differences,
                        receipt: outcome.receipt, limit: Self.shownPairs)
                }
            }
        } catch {
            findings.withLock { $0.addFailure(error.code, of: scope) }
            count(.failed, of: job.app)
        }
    }

    private func count(_ outcome: ComparisonLabel, of app: BundleIdentifier) {
        configured.withLock { $0.pipeline }.counts[app].comparisons.add(outcome.rawValue)
    }

    private func count(_ differences: [Difference], of app: BundleIdentifier) {
        count(differences.isEmpty ? .equal : .different, of: app)
        let counts = configured.withLock { $0.pipeline }.counts[app]
        for difference in differences {
            let label = difference.verdict == .unexpected ? DifferenceLabel.unexpected : .expected
            counts.differences.add(label.rawValue)
        }
    }

    /// Comparisons that wait.
    package var waiting: Int { queue.count }

    private func ask(_ job: ShadowJob, _ source: AnswerSource, isFresh: Bool) async -> VerifyReceiptResult {
        await configured.withLock { $0.pipeline }.answer(
            body: job.body.reveal(), route: job.route,
            requestOptions: .init(sources: [source], priority: .background, isFresh: isFresh))
    }

    /// What Apple's endpoint answered is the left side, whichever of the two a client got.
    private func outcome(
        of job: ShadowJob, against answered: VerifyReceiptResult, at time: Timestamp, isFresh: Bool = false
    ) async throws(ShadowFailure) -> ShadowOutcome {
        let second = await ask(job, job.shadow, isFresh: isFresh)
        // A receipt without a single id is answered from itself, whoever is asked.
        guard second.source == job.shadow || second.source == .receipt, second.answer.status.canBeCompared else {
            throw ShadowFailure("shadow.\(second.answer.status.rawValue)")
        }
        let request = try? configured.withLock { $0.pipeline }.read(job.body.reveal())
        let digest = request.map(Self.digest) ?? ""
        var context = ComparisonContext(receipt: digest)
        context.now = time
        context.timeDifference = now().milliseconds - time.milliseconds
        context.isAuthentic = true
        context.excludesOldTransactions = request?.excludesOldTransactions ?? false
        context.overrides = app(job.app)?.comparisonRules ?? [:]
        context.consumables = (job.shadow == .apple ? answered : second).consumables
        do throws(ComparisonError) {
            let left = try ComparedAnswer(verifyReceipt: (job.shadow == .apple ? second : answered).answer.body)
            let right = try ComparedAnswer(
                verifyReceipt: (job.shadow == .apple ? answered : second).answer.body, at: "serverAPI")
            let comparison = Comparison(verifyReceipt: left, serverAPI: right, context: context)
            return ShadowOutcome(
                receipt: digest, customer: ComparedCustomer.digest(left, right, receipt: digest),
                differences: comparison.differences, verifyReceipt: left, serverAPI: right)
        } catch {
            throw ShadowFailure("\(error.place.prefix { $0 != "." }).\(error.code.rawValue)")
        }
    }

    /// SHA-256 of the receipt's bytes, in hexadecimal.
    private static func digest(of request: VerifyReceiptRequest) -> String {
        let text = request.receiptText.reveal()
        let bytes = Data(base64Encoded: Data(text), options: .ignoreUnknownCharacters).map { [UInt8]($0) }
        return SHA.hex(bytes ?? text, with: .sha256)
    }

    // MARK: - Writing down

    private func writeDown() async {
        while (try? await Task.sleep(for: .seconds(1))) != nil { await flush() }
    }

    private func flush() async {
        let (found, time) = (
            findings.withLock { findings in
                defer { findings = ShadowFindings() }
                return findings
            }, now()
        )
        guard !found.tally.isEmpty else { return }
        guard let store else { return unstored.withLock { $0.merge(found.tally) } }
        let rows = found.rows(on: time.day)
        do throws(StorageError) {
            try await store.add(
                comparisons: rows.comparisons, differences: rows.differences, customers: rows.customers,
                limit: CustomerSet.maximum)
        } catch {
            logger.error("differences were not written down", metadata: ["reason": "\(error)"])
            unstored.withLock { $0.merge(found.tally) }
        }
    }

    // MARK: - Reading

    /// What was found in the last days, for people.
    package func report(days: Int64 = Shadow.days) async throws(StorageError) -> ComparisonReport {
        await flush()
        let time = now()
        var comparisons: [ComparisonCount] = []
        var differences: [DifferenceCount] = []
        let unstored = unstored.withLock { $0 }
        let rest = ShadowFindings(unstored).rows(on: time.day)
        var customers = unstored.customerCounts
        if let store {
            (comparisons, differences) = try await store.comparisons(since: time.day - days + 1)
            for row in try await store.comparedCustomers(since: time.day - days + 1) {
                let scope = ComparisonReport.Scope(bundleId: row.bundleId, environment: row.environment)
                // They may be the same ones.
                customers[scope] = max(customers[scope] ?? 0, row.count)
            }
        }
        var report = ComparisonReport(
            comparisons: comparisons + rest.comparisons, differences: differences + rest.differences,
            customers: customers, title: "the last \(days) days", madeAt: time)
        report.pairs = samples.withLock { $0.pairs }
        return report
    }
}

/// Two answers that could be compared.
struct ShadowOutcome: Sendable {
    let receipt: String
    /// See ``ComparedCustomer``.
    let customer: Int64
    let differences: [Difference]
    let verifyReceipt: ComparedAnswer
    let serverAPI: ComparedAnswer
}

/// Why there was no comparison: a short code.
struct ShadowFailure: Error {
    let code: String

    init(_ code: String) { self.code = code }
}

extension Timestamp {
    /// Days since 1970-01-01, UTC.
    fileprivate var day: Int64 { seconds / 86_400 }
}
