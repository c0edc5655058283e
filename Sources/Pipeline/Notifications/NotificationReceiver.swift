import AppStore
import Cryptography
package import Ledger
import Logging
import ReceiptDecoding
import StoreTypes

/// Takes in App Store Server Notifications: what is genuine is stored, and counts from the next answer on.
///
/// It returns only when the notification is on disk, with everything that it changed.
package struct NotificationReceiver: Sendable {
    /// A body may have so many bytes: those of version 2 are about 20 KB, those of version 1 hold a receipt and a hundred
    /// rows.
    package static let maximumBodyBytes = 1 << 20
    /// How far the App Store's clock may be ahead of ours, in milliseconds.
    static let maximumClockSkew: Int64 = 300_000
    /// Longer names than Apple's UUIDs are not one.
    private static let maximumNameBytes = 128

    let apps: AppRegistry
    let verifier: SignedPayloadVerifier
    /// Reads receipts inside notifications of version 1, which may be mangled.
    let decoder: ReceiptDecoder
    /// Nil where nothing is remembered: then nothing is taken.
    let store: Store?
    let serverAPI: ServerAPISource?
    let revocations: RevocationCache
    /// Told of whom something new is in the store.
    let changes: CacheInvalidationLog
    let hints: NotificationLookupQueue
    /// Rings when something new is to be forwarded.
    package let arrivals: AsyncSignal
    /// Since the start.
    package let counts: NotificationCounts
    let now: @Sendable () -> Timestamp
    let logger: Logger
    private let lines: LogThrottle<NotificationRejection.Code>

    /// - Parameter previous: whose counts and waiting work this one goes on with.
    init(
        apps: AppRegistry, verifier: SignedPayloadVerifier, decoder: ReceiptDecoder, store: Store?,
        serverAPI: ServerAPISource?, revocations: RevocationCache, changes: CacheInvalidationLog,
        counts: NotificationCounts, now: @escaping @Sendable () -> Timestamp, logger: Logger,
        previous: NotificationReceiver? = nil
    ) {
        self.apps = apps
        self.verifier = verifier
        self.decoder = decoder
        self.store = store
        self.serverAPI = serverAPI
        self.revocations = revocations
        self.changes = changes
        self.counts = counts
        hints = previous?.hints ?? NotificationLookupQueue(counts: counts, now: now, logger: logger)
        arrivals = previous?.arrivals ?? AsyncSignal()
        lines = previous?.lines ?? LogThrottle()
        self.now = now
        self.logger = logger
    }

    /// Takes one in; what comes a second time changes nothing, and is as good as the first.
    ///
    /// - Parameter version1Wait: counts a version 1 notification; the value of `Retry-After` if its sender has sent too
    ///   many, and it is refused then.
    @discardableResult
    package func receive(
        _ body: [UInt8], version1Wait: @Sendable () -> String? = { nil }
    ) async throws(NotificationRejection) -> NotificationOutcome {
        do throws(NotificationRejection) {
            guard let store else { throw NotificationRejection(.noStore, "nothing is remembered here: store is none") }
            let outcome: NotificationOutcome
            switch try NotificationBody(body) {
            case .version2(let text): outcome = try await receive(signed: text, in: body, into: store)
            case .version1(let body):
                if let wait = version1Wait() { throw NotificationRejection(tooManyUntil: wait) }
                outcome = try await receive(body, into: store)
            }
            counts.count { outcome == .repeated ? ($0.repeated += 1) : ($0.stored += 1) }
            return outcome
        } catch {
            counts.count { $0.refused[error.code, default: 0] += 1 }
            if lines.allows(error.code, at: now()) {
                logger.warning(
                    "a notification was not taken",
                    metadata: ["reason": "\(error)", "count": "\(counts.now.refused[error.code] ?? 0)"])
            }
            throw error
        }
    }

    private func receive(
        signed text: String, in body: [UInt8], into store: Store
    ) async throws(NotificationRejection) -> NotificationOutcome {
        let verified = try verify(text)
        let payload = verified.notification.payload
        let scope = try scope(of: payload)
        let news = NotificationUpdate(verified)
        let row = NotificationRow(
            uuid: payload.notificationUUID.flatMap { $0.utf8.count <= Self.maximumNameBytes && $0 != "" ? $0 : nil }
                ?? Self.name(of: text),
            version: 2, type: payload.notificationType, subtype: payload.subtype, signedDate: payload.signedDate,
            receivedAt: now(), text: text,
            rawBody: CanonicalNotificationBody.isVersion2(body, of: text) ? nil : body)
        let targetKeys = apps.configured(scope.bundleId)?.targetKeys ?? []
        let outcome: NotificationOutcome
        do throws(StorageError) {
            outcome = try await store.save(row, news, of: scope, for: targetKeys)
        } catch {
            throw NotificationRejection(error)
        }
        if !targetKeys.isEmpty { arrivals.signal() }
        if case .stored(isNew: true) = outcome, let transaction = verified.transaction?.payload {
            revocations.record(transaction, of: scope.bundleId, in: scope.environment)
        }
        // Also for a repeated one: the first may have come to a process that is no more.
        invalidate(
            [
                news.transaction?.originalTransactionId, news.renewal?.originalTransactionId,
                news.transaction?.appTransactionId,
            ].compactMap { $0 }, in: scope)
        log(row, outcome, of: scope)
        return outcome
    }

    private func verify(_ text: String) throws(NotificationRejection) -> VerifiedNotification {
        let verified: VerifiedNotification
        do throws(SignedPayloadError) {
            verified = try verifier.verifyNotification(text, now: now())
        } catch {
            throw NotificationRejection(error)
        }
        // A record from the future would keep out everything that is signed until then.
        let latest = [
            verified.notification.payload.signedDate, verified.transaction?.payload.signedDate,
            verified.renewal?.payload.signedDate, verified.appTransaction?.payload.receiptCreationDate,
        ].compactMap { $0 }.max()
        if let latest, latest > now().advanced(byMilliseconds: Self.maximumClockSkew) {
            throw NotificationRejection(.signedInFuture, "signed more than five minutes ahead of this machine's clock")
        }
        return verified
    }

    /// The configured app that it is of, by everything that it says.
    private func scope(of payload: NotificationPayload) throws(NotificationRejection) -> AppScope {
        guard let bundleId = payload.claimedBundleId.flatMap(BundleIdentifier.init(rawValue:)),
            let app = apps.configured(bundleId)
        else { throw NotificationRejection(.unknownApp, "of an app that is not configured") }
        guard let environment = payload.claimedEnvironment.flatMap(AppStoreEnvironment.init(rawValue:)),
            environment != .xcode
        else { throw NotificationRejection(.wrongEnvironment, "of neither production nor the sandbox") }
        // The sandbox names no number.
        if environment == .production, let number = app.appAppleId, payload.claimedAppAppleId != number {
            throw NotificationRejection(.unknownApp, "of an app with another appAppleId")
        }
        return AppScope(bundleId: bundleId, environment: environment)
    }

    /// In place of a name that it does not have.
    static func name(of text: String) -> String {
        let digits = Array("0123456789abcdef")
        return "sha256:"
            + String(
                SHA.digest(Array(text.utf8), with: .sha256).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }

    /// What was told of these customers moments ago counts no more.
    func invalidate(_ identifiers: [String], in scope: AppScope) {
        guard !identifiers.isEmpty else { return }
        changes.markChanged(identifiers, in: scope)
        serverAPI?.invalidate(identifiers, in: scope)
    }

    func log(_ row: NotificationRow, _ outcome: NotificationOutcome, of scope: AppScope) {
        logger.info(
            "notification \(outcome == .repeated ? "repeated" : "stored")",
            metadata: [
                "type": "\(row.type ?? "-")", "subtype": "\(row.subtype ?? "-")", "version": "\(row.version)",
                "bundleId": "\(scope.bundleId)", "environment": "\(scope.environment.rawValue)",
            ])
    }
}
