import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation
import Logging
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeStorage
import Synchronization

/// An archive of Apple's last good response to each receipt, for the time when Apple is not available: which requests
/// it may answer, and which responses are added to it.
///
/// Responses are stored after they are sent. When one is used again, refunds that became known since are added. If a
/// period has ended since, the response is not used, because the subscription may have been renewed; the client has
/// to retry. The archive is bounded in days and bytes.
package final class ResponseArchive: ResponseObserver {
    private struct PendingArchiveEntry: Sendable {
        let digest: [UInt8]
        let keptAt: Timestamp
    }

    /// Maximum number of requests whose archived response is remembered, so that an unchanged response is not stored
    /// again; about 250 bytes each.
    private static let maximumRecent = 50_000
    /// How long an unchanged response is not stored again.
    private static let storingInterval = Duration.days(1)
    private static let sweepInterval = Duration.hours(1)

    private static let lookupTimeLimit = Duration.seconds(1)

    private let limits: ProxyConfiguration.LastGood
    private let apps: AppRegistry
    private let store: any Store
    private let writer: BackgroundStoreWriter
    private let revocations: KnownRevocations
    private let logger: Logger
    private let recent = GenerationalCache<[UInt8], PendingArchiveEntry>(limit: maximumRecent)
    private let logThrottle = LogThrottle<String>()
    private let sizes = Mutex(Sizes())

    /// The measured size of the archive. One task at a time deletes responses (`isSweeping`).
    private struct Sizes {
        /// Upper bound of the bytes in the store; `nil` before the first measurement.
        var total: Int?
        /// Bytes that were stored while a deletion was running.
        var addedDuringSweep = 0
        var sweptAt: Timestamp?
        var isSweeping = false
    }

    /// `nil` if no app needs an archive: its retention is 0 days, or no app names the source `apple`.
    init?(
        _ settings: ProxyConfiguration, apps: AppRegistry, store: any Store, _ observations: UpstreamObservations,
        _ logger: Logger
    ) {
        guard settings.lastGood.days > 0, settings.apps.contains(where: { $0.answer.contains(.apple) }),
            let writer = observations.writer
        else { return nil }
        limits = settings.lastGood
        (self.apps, self.store, self.writer) = (apps, store, writer)
        revocations = observations.revocations
        self.logger = logger
    }

    /// The key of a request in the archive. `nil` if the response depends on more than the key holds, or if no
    /// responses of this app are archived.
    private func key(of request: ResolvedRequest) -> ArchiveKey? {
        let app = request.app
        guard request.options.sources == nil || request.options.isArchived, let receipt = request.authenticReceipt,
            app.answer.contains(.apple),
            apps.configured(receipt.bundleId) != nil,
            let password = ArchiveKey.Password(request.request.password, check: request.password)
        else { return nil }
        return ArchiveKey(
            receipt: receipt, excludesOldTransactions: request.request.excludesOldTransactions, password: password)
    }

    // MARK: - Storing responses

    /// Forgets which responses were stored, so that the next response to each request is stored again.
    func removeAll() { recent.removeAll() }

    /// Stores a response of Apple's in the background. Only responses with status 0 or 21006 are stored.
    package func observe(_ response: SourcedAnswer, to request: ResolvedRequest) {
        guard case .apple(let answer, let environment) = response.origin, answer.status.promisesReceipt,
            environment != .xcode, let question = key(of: request)
        else { return }
        let now = request.now
        let scope = AppScope(bundleId: question.receipt.bundleId, environment: environment)
        let response = Answer(status: answer.status, body: answer.body)
        writer.run(cost: answer.body.count) { store throws(StorageError) in
            guard let archived = ArchivedResponse(response, to: question.receipt.canonicalText.reveal()),
                let row = self.rowIfChanged(archived, to: question.digest, at: now),
                await !self.lacksRevocation(archived, in: scope, at: now)
            else { return }
            // Inserted before the write, so that a concurrent deletion removes it again if it deletes the row.
            self.recent.insert(PendingArchiveEntry(digest: row.digest, keptAt: now), for: row.question, cost: 1)
            let change: ArchiveChange
            do throws(StorageError) {
                change = try await store.archive.save(row, of: scope, at: now)
            } catch {
                self.recent.remove(row.question)
                throw error
            }
            for question in change.deleted { self.recent.remove(question) }
            try await self.makeRoom(for: change.bytes, at: now)
        }
    }

    private func lacksRevocation(_ archived: ArchivedResponse, in scope: AppScope, at now: Timestamp) async -> Bool {
        guard let response = RestoredResponse(archived, keptAt: now) else { return false }
        let (index, _) = await revocations.revocations(
            of: response.purchaseIdentifiers, in: scope, within: Self.lookupTimeLimit)
        return response.lacks(index)
    }

    /// Returns the row to store; `nil` if the same response was stored less than a day ago.
    private func rowIfChanged(_ archived: ArchivedResponse, to question: [UInt8], at now: Timestamp)
        -> ArchivedResponseRow?
    {
        // The digest leaves out `latest_receipt`, which Apple signs again for each response. If its content is new, the
        // rows are new too.
        let digest = SHA.digest(archived.body, with: .sha256)
        if let before = recent[question], before.digest == digest,
            (.zero..<Self.storingInterval).contains(before.keptAt.duration(to: now))
        {
            return nil
        }
        return ArchivedResponseRow(
            question: question, status: archived.status.rawValue, body: archived.body,
            latestReceipt: archived.latestReceipt.map { Data($0) },
            digest: digest, originals: RestoredResponse(archived, keptAt: now)?.originals ?? [])
    }

    /// Only if the archive is too large or the last deletion is more than an hour ago; one deletion runs at a time.
    private func makeRoom(for added: Int, at now: Timestamp) async throws(StorageError) {
        let limit = limits.bytes
        let isDue = sizes.withLock { sizes in
            sizes.total = sizes.total.map { $0 + added }
            sizes.addedDuringSweep += added
            let isTime = sizes.sweptAt.map { $0.duration(to: now) >= Self.sweepInterval } ?? true
            guard !sizes.isSweeping, isTime || sizes.total.map({ $0 > limit }) ?? true else { return false }
            sizes.isSweeping = true
            sizes.sweptAt = now
            return true
        }
        guard isDue else { return }
        do throws(StorageError) {
            // One server at a time deletes. The others measure the archive again after an hour.
            let swept = try await TaskLease.whileHolding(.archive, in: store.leases) {
                isHeld throws(StorageError) -> Bool in
                while await isHeld() {
                    guard try await self.sweep(at: now) else { return true }
                }
                return false
            }
            // Another server has the task, or has taken it over.
            if swept != true { sizes.withLock { ($0.isSweeping, $0.total) = (false, limit / 10 * 9) } }
        } catch {
            sizes.withLock { $0.isSweeping = false }
            throw error
        }
    }

    /// Deletes expired responses and, if the archive is too large, the oldest ones. Returns whether the archive is
    /// already too large again: writes during a deletion leave the next one to it.
    private func sweep(at now: Timestamp) async throws(StorageError) -> Bool {
        let limit = limits.bytes
        let isFull = try await store.archive.lastGoodUsage().bytes > limit
        // Deletes down to 90 % of the limit, so that not every write needs a deletion.
        let goal = isFull ? limit / 10 * 9 : limit
        while try await store.archive.deleteArchivedResponses(before: oldest(at: now), downTo: goal) {}
        // Which requests lost their response is not known, so forget all of them.
        if isFull { recent.removeAll() }
        sizes.withLock { $0.addedDuringSweep = 0 }
        let total = try await store.archive.lastGoodUsage().bytes
        return sizes.withLock { sizes in
            let bytes = total + sizes.addedDuringSweep
            sizes.total = bytes
            sizes.isSweeping = bytes > limit
            return sizes.isSweeping
        }
    }

    /// The time before which archived responses have expired.
    private func oldest(at now: Timestamp) -> Timestamp { now.advanced(by: .days(-limits.days)) }

    // MARK: - Returning responses

    /// Apple's last good response to a request, updated to the time of the request. `nil` if a subscription in it has
    /// ended and may have been renewed since, or if the store does not respond in time.
    func response(to request: ResolvedRequest) async -> SourcedAnswer? {
        guard let key = key(of: request) else { return nil }
        let route = request.route
        let now = request.now
        // For an app that wants it, an out-of-date response is better than none.
        let mayBeStale = request.app.staleSubscription == .answer
        let reading = Task { await self.read(key, on: route, mayBeStale: mayBeStale, at: now) }
        guard let found = await TaskTimeout.value(of: reading, within: request.deadline.reading(before: 0)) ?? nil
        else { return nil }
        return SourcedAnswer(found.answer, source: .stored, environment: found.environment, origin: .archived)
    }

    /// A response for another app or environment than the request's is not used.
    ///
    /// - Parameter mayBeStale: return a response with an ended subscription too.
    private func read(
        _ question: ArchiveKey, on route: UpstreamRouter.Route, mayBeStale: Bool, at now: Timestamp
    ) async -> (answer: Answer, environment: AppStoreEnvironment)? {
        do throws(StorageError) {
            guard let found = try await store.archive.archivedResponse(to: question.digest),
                found.keptAt >= oldest(at: now),
                found.scope.bundleId == question.receipt.bundleId, route.includes(found.scope.environment),
                let restored = RestoredResponse(ArchivedResponse(found), keptAt: found.keptAt)
            else { return nil }
            let scope = found.scope
            let (index, isComplete) = await revocations.revocations(
                of: restored.purchaseIdentifiers, shown: restored.cancelled.map { .transaction($0) }, in: scope,
                within: Self.lookupTimeLimit)
            // A refund in the response was reversed since. The response is not used, so that no customer loses access
            // because of it.
            guard !isComplete || restored.cancelled.allSatisfy(index.contains) else { return nil }
            if !mayBeStale {
                let ended = restored.ended(at: now, revocations: index)
                guard !restored.mayBeStale(at: now, revocations: index) else { return nil }
                if !ended.isEmpty, try await store.customers.hasNewerRecord(of: ended, in: scope, since: found.keptAt) {
                    return nil
                }
            }
            let answer = restored.answer(
                requestDate: now, submitted: question.receipt.canonicalText.reveal(), revocations: index)
            return answer.map { ($0, scope.environment) }
        } catch {
            if logThrottle.allows("read", at: now.sinceEpoch) {
                logger.warning("cannot read archived responses from the store", metadata: ["reason": "\(error)"])
            }
            return nil
        }
    }
}

extension RestoredResponse {
    fileprivate var purchaseIdentifiers: [PurchaseIdentifier] {
        purchases.flatMap { [PurchaseIdentifier].all($0.transactionId, lineItem: $0.webOrderLineItemId) }
    }
}

extension ArchivedResponse {
    fileprivate init(_ found: ArchivedResponseMatch) {
        self.init(
            status: VerifyReceiptStatus(rawValue: found.status), body: found.body,
            latestReceipt: found.latestReceipt.map { [UInt8]($0) })
    }
}

extension UpstreamRouter.Route {
    /// For a receipt of the other environment, Apple's endpoint responds with 21007 or 21008.
    fileprivate func includes(_ environment: AppStoreEnvironment) -> Bool {
        switch self {
        case .auto: true
        case .only(let only): only == environment
        }
    }
}
