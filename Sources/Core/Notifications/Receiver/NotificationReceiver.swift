import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Logging
package import ReceiptBridgeStorage

/// Receives App Store Server Notifications. An authentic notification is stored and affects responses from then on.
///
/// ``receive(_:version1Wait:)`` returns only after the notification and all changes that it causes are on disk.
package struct NotificationReceiver: Sendable {
    /// Maximum size of a body, in bytes. Bodies of version 2 have about 20 KB; those of version 1 contain a receipt
    /// and up to a hundred rows.
    package static let maximumBodyBytes = 1 << 20
    /// How far a signing date may be ahead of this machine's clock.
    static let maximumClockSkew = Duration.minutes(5)
    /// Maximum length of a notification's UUID, in bytes. A longer one is not Apple's and is replaced by a digest.
    private static let maximumNameBytes = 128

    let apps: AppRegistry
    let verifier: SignedPayloadVerifier
    /// Decodes receipts in version 1 notifications, which may need repairs.
    let decoder: ReceiptDecoder
    /// `nil` if there is no store; then every notification is rejected.
    let store: (any Store)?
    /// Looks up customers; `nil` if no app has a Server API key.
    let serverAPI: ServerAPISource?
    let revocations: KnownRevocations
    /// Discards the records of customers whose data changed.
    let recordsAtHand: RecordsAtHand
    /// Lookups for version 1 notifications.
    let lookups: NotificationLookupQueue
    /// Signaled when a notification is to be forwarded.
    package let arrivals: AsyncSignal
    let metrics: ProxyMetrics
    /// Rejected notifications since the start of the process, by ``NotificationRejection/Code``.
    package let rejections: CounterTable
    /// For which time the store's notifications are complete.
    package let coverage: NotificationCoverage
    /// When notifications were refused because the store was unavailable or this machine's clock is wrong.
    package let gaps: NotificationGaps
    let now: @Sendable () -> Timestamp
    let logger: Logger
    private let logThrottle: LogThrottle<[String]>

    /// The customers that need a lookup, and that can be looked up.
    package var lookupNeed: LookupNeed {
        coverage.lookupNeed(of: serverAPI?.clients.map(\.bundleId) ?? [], at: now())
    }

    /// - Parameters:
    ///   - components: shared with the other services of the configuration.
    ///   - store: `nil` rejects every notification.
    ///   - previous: the receiver of the previous configuration, whose counters and background work this one takes
    ///     over.
    package init(_ components: ServiceComponents, store: (any Store)?, previous: NotificationReceiver? = nil) {
        apps = components.apps
        verifier = components.verifier
        decoder = components.tolerantDecoder
        self.store = store
        serverAPI = components.serverAPI
        revocations = components.revocations
        recordsAtHand = components.recordsAtHand
        coverage = components.coverage
        metrics = components.counts
        rejections = previous?.rejections ?? CounterTable(NotificationRejection.Code.texts)
        gaps = previous?.gaps ?? NotificationGaps()
        lookups =
            previous?.lookups
            ?? NotificationLookupQueue(
                events: metrics.events, cluster: store?.cluster, now: components.now, logger: components.logger)
        arrivals = previous?.arrivals ?? AsyncSignal()
        logThrottle = previous?.logThrottle ?? LogThrottle()
        now = components.now
        logger = components.logger
    }

    /// Receives a notification. Receiving one again changes nothing and returns successfully.
    ///
    /// - Parameter version1Wait: applies the rate limit for version 1 notifications to the sender. Returns the value
    ///     of `Retry-After` if the limit is exceeded, in which case the notification is rejected; `nil` otherwise.
    @discardableResult
    package func receive(
        _ body: [UInt8], version1Wait: @Sendable () -> String? = { nil }
    ) async throws(NotificationRejection) -> NotificationOutcome {
        do throws(NotificationRejection) {
            guard let store else { throw NotificationRejection(.noStore, "no store is configured (store: none)") }
            let outcome: NotificationOutcome
            switch try NotificationBody(body) {
            case .version2(let text): outcome = try await receive(signed: text, in: body, into: store)
            case .version1(let body):
                if let wait = version1Wait() { throw NotificationRejection(tooManyUntil: wait) }
                outcome = try await receive(body, into: store)
            }
            metrics.notifications.add(outcome == .repeated ? NotificationLabel.repeated : .stored)
            return outcome
        } catch {
            rejections.add(error.code)
            if error.isFetchedLater { gaps.extend(to: [now(), error.signedAt ?? now()]) }
            log(error)
            throw error
        }
    }

    /// Receives a version 2 notification.
    private func receive(
        signed presented: String, in body: [UInt8], into store: any Store
    ) async throws(NotificationRejection) -> NotificationOutcome {
        let verified = try verify(presented)
        let (payload, text) = (verified.notification.payload, verified.notification.text)
        let scope = try scope(of: payload)
        var update = NotificationUpdate(verified)
        let app = apps.configured(scope.bundleId)
        let isRechecked =
            app?.recheck.contains { $0.matches(type: payload.notificationType, subtype: payload.subtype) } ?? false
        // If the lookup fails, the customer stays stale.
        if isRechecked { update.needsLookup = true }
        let row = row(of: payload, text, in: body)
        let targetKeys = app?.targetKeys ?? []
        let (original, changed) = (update.originalTransactionId, update.changedCustomers)
        let outcome: NotificationOutcome
        do throws(StorageError) {
            outcome = try await store.notifications.save(row, update, of: scope, for: targetKeys)
            // The first time may have been a commit whose outcome was unknown, and was answered with an error.
            if outcome == .repeated, let id = update.transaction?.transactionId {
                try await revocations.update([id], in: scope, from: store.revocations)
            }
        } catch {
            // It is authentic, so what this server has in memory about the customer is outdated, stored or not.
            invalidate(changed, in: scope)
            throw NotificationRejection(error, signedAt: row.signedDate)
        }
        coverage.recordArrival(at: row.receivedAt)
        if !targetKeys.isEmpty { arrivals.signal() }
        if case .stored(isNew: true) = outcome, let transaction = verified.transaction?.payload {
            revocations.recordStored([transaction], in: scope)
        }
        // A repeated notification invalidates caches too: another process, which has ended since, may have received
        // the first one.
        invalidate(changed, in: scope)
        if isRechecked, outcome != .repeated, let original {
            lookups.lookUp(
                CustomerIdentifiers(originalTransactionIds: [original], transactionIds: []), in: scope, at: now(),
                through: serverAPI)
        }
        // Last, because the steps before do not depend on it. If it fails, Apple repeats the notification.
        if let original, PurchaseCases.areChanged(by: row.type) {
            do throws(StorageError) {
                try await PurchaseCases(store, counts: metrics).update(original, in: scope, at: now())
            } catch {
                throw NotificationRejection(error, signedAt: row.signedDate)
            }
        }
        log(row, outcome, of: scope)
        return outcome
    }

    private func row(of payload: NotificationPayload, _ text: String, in body: [UInt8]) -> NotificationRow {
        NotificationRow(
            uuid: payload.notificationUUID.flatMap { $0.utf8.count <= Self.maximumNameBytes && $0 != "" ? $0 : nil }
                ?? Self.identifier(of: text),
            version: 2, type: payload.notificationType, subtype: payload.subtype, signedDate: payload.signedDate,
            receivedAt: now(), text: text, payload: payload.claims,
            rawBody: CanonicalNotificationBody.isVersion2(body, of: text) ? nil : body)
    }

    /// Verifies a notification with all records in it, and rejects dates in the future.
    private func verify(_ text: String) throws(NotificationRejection) -> VerifiedNotification {
        let verified: VerifiedNotification
        do throws(SignedPayloadError) {
            verified = try verifier.verifyNotification(text, now: now())
        } catch {
            throw NotificationRejection(error)
        }
        // A record with a signing date in the future would prevent updates by all records that are signed before that
        // date.
        let latest = [
            verified.notification.payload.signedDate, verified.transaction?.payload.signedDate,
            verified.renewal?.payload.signedDate, verified.appTransaction?.payload.receiptCreationDate,
        ].compactMap { $0 }.max()
        if let latest, latest > now().advanced(by: Self.maximumClockSkew) {
            throw NotificationRejection(signedInFuture: latest)
        }
        return verified
    }

    /// Returns the configured app and the environment of a notification. Every part of the notification must belong
    /// to that app.
    private func scope(of payload: NotificationPayload) throws(NotificationRejection) -> AppScope {
        do throws(NotificationRejection) {
            return try knownScope(of: payload)
        } catch {
            guard payload.hasKnownContainer else {
                throw NotificationRejection(
                    .unknownContainer, "no container that this version knows, and no other one of a configured app")
            }
            throw error
        }
    }

    private func knownScope(of payload: NotificationPayload) throws(NotificationRejection) -> AppScope {
        guard let bundleId = payload.claimedBundleId.flatMap(BundleIdentifier.init(rawValue:)),
            let app = apps.configured(bundleId)
        else { throw NotificationRejection(.unknownApp, "the app is not configured") }
        guard let environment = payload.claimedEnvironment.flatMap(AppStoreEnvironment.init(rawValue:)),
            environment != .xcode
        else { throw NotificationRejection(.unexpectedType, "the environment is neither production nor sandbox") }
        // Sandbox notifications contain no `appAppleId`, and an unknown container need not.
        if environment == .production, let appAppleId = app.appAppleId, payload.claimedAppAppleId != appAppleId,
            payload.claimedAppAppleId != nil || payload.hasKnownContainer
        {
            throw NotificationRejection(.unknownApp, "the appAppleId is not the configured one")
        }
        return AppScope(bundleId: bundleId, environment: environment)
    }

    /// Returns a digest that identifies a notification without a UUID.
    static func identifier(of text: String) -> String { "sha256:" + SHA.hex(Array(text.utf8), with: .sha256) }

    /// Discards the records at hand of these customers.
    func invalidate(_ identifiers: [String], in scope: AppScope) {
        guard !identifiers.isEmpty else { return }
        recordsAtHand.markChanged(identifiers, in: scope)
    }

    /// Logs a rejection at most once a minute for each code, and for each configured app whose nested part belongs
    /// elsewhere.
    private func log(_ error: NotificationRejection) {
        let app = error.mismatch?.holder.flatMap(BundleIdentifier.init(rawValue:)).flatMap(apps.configured)?.bundleId
        guard logThrottle.allows([error.code.rawValue, app?.rawValue ?? ""], at: now().sinceEpoch) else { return }
        var metadata: Logger.Metadata = [
            "reason": "\(error)", "count": .stringConvertible(rejections.count(error.code)),
        ]
        if let mismatch = error.mismatch {
            metadata["bundleId"] = "\(app?.rawValue ?? "-")"
            metadata["nested"] = "\(mismatch.claimedWords)"
        }
        logger.warning("notification rejected", metadata: metadata)
    }

    /// Logs a received notification without its payload.
    func log(_ row: NotificationRow, _ outcome: NotificationOutcome, of scope: AppScope) {
        logger.info(
            "notification \(outcome == .repeated ? "repeated" : "stored")",
            metadata: [
                "type": "\(row.type ?? "-")", "subtype": "\(row.subtype ?? "-")",
                "version": .stringConvertible(row.version),
                "bundleId": "\(scope.bundleId)", "environment": "\(scope.environment.rawValue)",
            ])
    }
}

extension SignedPayloadError {
    /// The app or environment that a nested part names. An App Clip has the bundle id of its app, a dot and a name.
    ///
    /// https://developer.apple.com/documentation/appclip/creating-an-app-clip-with-xcode
    fileprivate var claimedWords: String {
        // Bundle ids have at most 155 characters.
        let name = String((claimed ?? "-").prefix(155))
        guard code == .wrongBundleId, let holder, name.hasPrefix("\(holder).") else { return name }
        return "\(name) (an App Clip of \(holder))"
    }
}

extension NotificationUpdate {
    /// The identifiers of the customers whose records are outdated.
    fileprivate var changedCustomers: [String] {
        let (original, renewed) = (originalTransactionId, renewal?.originalTransactionId)
        return [
            original, renewed == original ? nil : renewed, transaction?.appTransactionId,
            transaction?.previousOriginalTransactionId,
        ].compactMap(\.self)
    }
}
