import AppStore
import Cryptography
import Foundation
package import Ledger
package import Logging
import ReceiptDecoding
package import Rendering
package import StoreTypes
package import Transport

/// The walks of old and of new clients over the same parts.
package struct Pipelines: Sendable {
    /// Of old clients: verifyReceipt.
    package let verifyReceipt: VerifyReceiptPipeline
    /// Of new clients: the customer's one view. Shares clients, budgets and trust with the other.
    package let customerView: CustomerViewPipeline
    /// Of the App Store: what it tells by itself. Shares trust with the others, and what they keep.
    package let notifications: NotificationIntake
    /// What is known around notifications that are forwarded; nil where nothing is remembered.
    package let forwarding: ForwardingSource?

    /// The only place where parts are wired.
    ///
    /// - Parameters:
    ///   - transport: nil where nobody may be asked.
    ///   - store: nil where nothing is remembered over a restart.
    ///   - former: what answered before, by another configuration; whatever it has learnt, counted and paid for goes on.
    ///   - now: the clock.
    ///   - sleep: passes the time between two questions to Apple.
    /// - Throws: `SettingsError` where the settings name what cannot be used.
    package init(
        settings: Settings, transport: (any HTTPTransport)?, store: BridgeStore? = nil, former: Pipelines? = nil,
        tables: FieldTables, logger: Logger, now: @escaping @Sendable () -> Timestamp = { .now },
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) throws {
        let decoder = ReceiptDecoder(
            trust: try TrustStore(settings: settings), profile: settings.usesTolerantProfile ? .tolerant : .apple)
        let apps = AppRegistry(settings: settings)
        let verifier = SignedPayloadVerifier(trust: decoder.trust)
        // What is new in the store makes old what was read from it.
        let changes = former?.notifications.changes ?? RecentChanges()
        let lessons = former?.verifyReceipt.lessons ?? Self.lessons(of: store, changes, logger: logger, now: now)
        let revocations = lessons.revocations
        let serverAPI = try transport.map {
            try ServerAPISource(
                settings: settings, transport: $0, verifier: verifier, now: now, keeper: lessons.keeper,
                former: former?.verifyReceipt.serverAPI)
        }
        verifyReceipt = VerifyReceiptPipeline(
            decoder: decoder, apps: apps,
            apple: try transport.map { try AppleSource(settings: settings, transport: $0, sleep: sleep) },
            serverAPI: serverAPI,
            stored: former?.verifyReceipt.stored
                ?? store.map {
                    StoredSource(store: $0, changes: changes, revocations: revocations, logger: logger)
                },
            lessons: lessons, replays: former?.verifyReceipt.replays ?? ReplayWatch(),
            renderer: AnswerRenderer(tables: tables), now: now, sleep: sleep, logger: logger)
        customerView = CustomerViewPipeline(
            decoder: decoder, verifier: verifier, apps: apps, serverAPI: serverAPI, revocations: revocations,
            renderer: CustomerViewRenderer(tables: tables), now: now, logger: logger)
        notifications = NotificationIntake(
            apps: apps, verifier: verifier, decoder: ReceiptDecoder(trust: decoder.trust, profile: .tolerant),
            store: store, serverAPI: serverAPI, revocations: revocations, changes: changes, now: now, logger: logger,
            former: former?.notifications)
        forwarding = store.map {
            ForwardingSource(store: $0, verifier: verifier, apps: apps, serverAPI: serverAPI, now: now)
        }
    }

    /// What was known before the start, and is learnt from now on.
    private static func lessons(
        of store: BridgeStore?, _ changes: RecentChanges, logger: Logger, now: @escaping @Sendable () -> Timestamp
    ) -> AppleLessons {
        let keeper = store.map { store in
            RecordKeeper(store: store, logger: logger, now: now) { changes.note($0, in: $1) }
        }
        let lessons = AppleLessons(revocations: RevocationMemory(keeper: keeper), keeper: keeper)
        do throws(LedgerError) {
            if let store { try lessons.load(from: store) }
        } catch {
            logger.error("what was learnt before cannot be read from the store", metadata: ["reason": "\(error)"])
        }
        return lessons
    }
}

extension Pipelines {
    /// Empties what is in memory of customers, whoever they are; what the store holds is read from it again. Waits for the
    /// disk.
    package func forgetCustomers(in store: BridgeStore) throws(LedgerError) {
        verifyReceipt.memory?.forgetAll()
        verifyReceipt.stored?.forgetAll()
        verifyReceipt.serverAPI?.forgetAll()
        verifyReceipt.replays.forgetAll()
        try verifyReceipt.lessons.reload(from: store)
    }
}

extension VerifyReceiptPipeline {
    /// The walk of old clients alone.
    package init(
        settings: Settings, transport: (any HTTPTransport)?, tables: FieldTables, logger: Logger,
        now: @escaping @Sendable () -> Timestamp = { .now },
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) throws {
        self = try Pipelines(
            settings: settings, transport: transport, tables: tables, logger: logger, now: now, sleep: sleep
        ).verifyReceipt
    }
}

extension TrustStore {
    /// Apple's anchors, and what the settings add.
    package convenience init(settings: Settings) throws {
        func certificates(_ encodings: [[UInt8]], key: String) throws -> [Certificate] {
            try encodings.map { encoding in
                do throws(CryptographyError) {
                    return try Certificate(der: encoding.span)
                } catch {
                    throw SettingsError(["\(key): a certificate cannot be used: \(error.reason)"])
                }
            }
        }
        try self.init(
            anchors: .apple().adding(
                roots: certificates(settings.trustedRoots, key: "trust.roots"),
                intermediates: certificates(settings.intermediates, key: "trust.intermediates")))
    }
}

extension AppleSource {
    /// Apple's endpoints, or those of a stand-in.
    init(
        settings: Settings, transport: any HTTPTransport, sleep: @escaping @Sendable (Duration) async -> Void
    ) throws {
        let endpoints: VerifyReceiptEndpoints
        do {
            endpoints = try VerifyReceiptEndpoints(
                production: settings.verifyReceipt.production, sandbox: settings.verifyReceipt.sandbox)
        } catch {
            throw SettingsError(["upstream.verifyReceipt: \(error)"])
        }
        self.init(client: VerifyReceiptClient(transport: transport, endpoints: endpoints), sleep: sleep)
    }
}

extension Timestamp {
    /// This machine's clock.
    package static var now: Timestamp {
        Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }
}
