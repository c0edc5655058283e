import AppStore
import Cryptography
import Foundation
import Ledger
import Logging
import Purchases
import ReceiptDecoding
import Rendering
import StoreTypes
import Synchronization

/// Apple's last good answer to each receipt, for the time when Apple has none.
///
/// Kept behind the answer, and given again with what has become known since: refunds, and that a period is over, which is
/// no answer but a reason to ask again. Bounded in days and bytes.
final class ResponseArchive: Sendable {
    private struct PendingArchiveEntry: Sendable {
        let digest: [UInt8]
        let keptAt: Timestamp
    }

    /// Questions whose kept answer is remembered, so that the same one is not written down again; about 250 bytes each.
    private static let remembered = 50_000
    /// How long it is not, in milliseconds.
    private static let day: Int64 = 86_400_000
    /// Between two looks for what is too old, in milliseconds.
    private static let sweepInterval: Int64 = 3_600_000

    private let limits: ProxyConfiguration.LastGood
    private let store: Store
    private let writer: BackgroundStoreWriter
    private let revocations: RevocationCache
    private let logger: Logger
    private let recent = GenerationalCache<[UInt8], PendingArchiveEntry>(limit: remembered)
    private let lines = LogThrottle<String>()
    private let sizes = Mutex(Sizes())

    private struct Sizes {
        /// Bytes in the store, or more; nil before the first look.
        var total: Int?
        /// Bytes that came while room was made.
        var meanwhile = 0
        var sweptAt: Timestamp?
        var isSweeping = false
    }

    init(
        limits: ProxyConfiguration.LastGood, store: Store, writer: BackgroundStoreWriter, revocations: RevocationCache,
        logger: Logger
    ) {
        self.limits = limits
        self.store = store
        self.writer = writer
        self.revocations = revocations
        self.logger = logger
    }

    // MARK: - Keeping

    /// What was written down is written down again when it is heard.
    func removeAll() { recent.removeAll() }

    /// Returns at once.
    ///
    /// - Parameter environment: that Apple answered from.
    func save(
        _ answer: UpstreamResponse, to question: ArchiveKey, from environment: AppStoreEnvironment,
        at now: Timestamp
    ) {
        guard answer.status == .valid || answer.status == .subscriptionExpired, environment != .xcode else { return }
        let scope = AppScope(bundleId: question.receipt.bundleId, environment: environment)
        writer.run(cost: answer.body.count) { store throws(StorageError) in
            let whole = VerifyReceiptAnswer(status: answer.status, body: answer.body)
            guard let kept = ArchivedResponse(whole, to: question.receipt.canonicalText.reveal()),
                let row = self.news(kept, to: question.digest, at: now)
            else { return }
            // Remembered first: who makes room at the same time has it forgotten with the others.
            self.recent.insert(PendingArchiveEntry(digest: row.digest, keptAt: now), for: row.question, cost: 1)
            let change: ArchiveChange
            do throws(StorageError) {
                change = try await store.save(row, of: scope, at: now)
            } catch {
                self.recent.remove(row.question)
                throw error
            }
            for question in change.deleted { self.recent.remove(question) }
            try await self.makeRoom(for: change.bytes, at: now)
        }
    }

    /// Nil for what was written down a moment ago.
    private func news(_ kept: ArchivedResponse, to question: [UInt8], at now: Timestamp) -> ArchivedResponseRow? {
        // Apple signs a new receipt each time; where there is something new in it there is in the rows.
        let digest = SHA.digest(kept.body, with: .sha256)
        if let before = recent[question], before.digest == digest,
            (0..<Self.day).contains(now.milliseconds - before.keptAt.milliseconds)
        {
            return nil
        }
        return ArchivedResponseRow(
            question: question, status: kept.status.rawValue, body: kept.body, latestReceipt: kept.latestReceipt,
            digest: digest, originals: RestoredResponse(kept, keptAt: now)?.originals ?? [])
    }

    private func makeRoom(for added: Int, at now: Timestamp) async throws(StorageError) {
        let limit = limits.bytes
        let isDue = sizes.withLock { sizes in
            sizes.total = sizes.total.map { $0 + added }
            sizes.meanwhile += added
            let isTime = sizes.sweptAt.map { now.milliseconds - $0.milliseconds >= Self.sweepInterval } ?? true
            guard !sizes.isSweeping, isTime || sizes.total.map({ $0 > limit }) ?? true else { return false }
            sizes.isSweeping = true
            sizes.sweptAt = now
            return true
        }
        guard isDue else { return }
        do throws(StorageError) {
            while try await sweep(at: now) {}
        } catch {
            sizes.withLock { $0.isSweeping = false }
            throw error
        }
    }

    /// Makes room once; true where it has to be made again, for what others kept in the meantime: they left it to this.
    private func sweep(at now: Timestamp) async throws(StorageError) -> Bool {
        let limit = limits.bytes
        let isFull = try await store.lastGoodUsage().bytes > limit
        // A tenth less, so that not every answer has to make room.
        let goal = isFull ? limit / 10 * 9 : limit
        while try await store.deleteArchivedResponses(before: oldest(at: now), downTo: goal) {}
        // Whose answers had to go is not known; who comes again is new.
        if isFull { recent.removeAll() }
        sizes.withLock { $0.meanwhile = 0 }
        let total = try await store.lastGoodUsage().bytes
        return sizes.withLock { sizes in
            let bytes = total + sizes.meanwhile
            sizes.total = bytes
            sizes.isSweeping = bytes > limit
            return sizes.isSweeping
        }
    }

    private func oldest(at now: Timestamp) -> Timestamp {
        now.advanced(byMilliseconds: -limits.days * Self.day)
    }

    // MARK: - Answering

    /// What Apple said last, as of now, and from which environment. Nil where nothing is kept, where it may be old news that
    /// a subscription is over, and where the store does not tell in time.
    ///
    /// - Parameters:
    ///   - mayBeStale: an old word is better than none.
    ///   - limit: for reading the store.
    func answer(
        to question: ArchiveKey, on route: UpstreamRouter.Route, mayBeStale: Bool, at now: Timestamp,
        within limit: Duration
    ) async -> (VerifyReceiptAnswer, AppStoreEnvironment)? {
        let reading = Task { await self.read(question, on: route, mayBeStale: mayBeStale, at: now) }
        return await TaskTimeout.value(of: reading, within: limit) ?? nil
    }

    private func read(
        _ question: ArchiveKey, on route: UpstreamRouter.Route, mayBeStale: Bool, at now: Timestamp
    ) async -> (VerifyReceiptAnswer, AppStoreEnvironment)? {
        do throws(StorageError) {
            guard let found = try await store.archivedResponse(to: question.digest), found.keptAt >= oldest(at: now),
                found.scope.bundleId == question.receipt.bundleId, route.includes(found.scope.environment),
                let opened = RestoredResponse(ArchivedResponse(found), keptAt: found.keptAt)
            else { return nil }
            let scope = found.scope
            let known = revocations.revocations(of: scope.bundleId, in: scope.environment)
            // A refund that was taken back since: nobody is to be locked out by what is known to be over.
            guard !revocations.knowsNoMore(of: opened.cancelled, since: found.keptAt, in: scope) else { return nil }
            if !mayBeStale {
                let ended = opened.ended(at: now, revocations: known)
                guard !opened.mayBeStale(at: now, revocations: known) else { return nil }
                if !ended.isEmpty, try await store.hasNewerRecord(of: ended, in: scope, since: found.keptAt) {
                    return nil
                }
            }
            let answer = opened.answer(
                requestDate: now, submitted: question.receipt.canonicalText.reveal(), revocations: known)
            return answer.map { ($0, scope.environment) }
        } catch {
            if lines.allows("read", at: now) {
                logger.warning("last good answers cannot be read", metadata: ["reason": "\(error)"])
            }
            return nil
        }
    }
}

extension ArchivedResponse {
    fileprivate init(_ found: ArchivedResponseMatch) {
        self.init(
            status: VerifyReceiptStatus(rawValue: found.status), body: found.body, latestReceipt: found.latestReceipt)
    }
}

extension UpstreamRouter.Route {
    /// Whether an answer from there goes back; of the other endpoint's receipts Apple's says 21007 or 21008.
    fileprivate func includes(_ environment: AppStoreEnvironment) -> Bool {
        switch self {
        case .auto: true
        case .only(let only): only == environment
        }
    }
}
