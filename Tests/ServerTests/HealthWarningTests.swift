import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeServer
import ReceiptBridgeStorage
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Warnings")
struct HealthWarningTests {
    private static let app = BundleIdentifier(rawValue: "com.example.app")!

    /// Each warning, and its code with its text, as `/readyz` and the status page show them.
    private static let all: KeyValuePairs<HealthWarning, String> = [
        .storeReplaced:
            "storeReplaced: "
            + "A file of the store was removed, replaced or truncated. Nothing is stored and notifications are rejected until "
            + "it is restored and the server restarted.",
        .storeNotOpen:
            "storeNotOpen: "
            + "The store could not be opened yet. Nothing is stored and notifications are rejected until it is open.",
        .storeErrors(3): "storeErrors: 3 store operations failed since the start.",
        .storeDamaged("a value of revocation.date is damaged"):
            "storeDamaged: The store has damaged rows, which are left out: a value of revocation.date is damaged.",
        .notificationsMissing(NotificationGap(from: Timestamp(milliseconds: 0), to: Timestamp(milliseconds: 60_000))):
            "notificationsMissing: "
            + "Notifications from 1970-01-01T00:00:00Z to 1970-01-01T00:01:00Z may be missing; they are being fetched.",
        .customersToLookUp(12):
            "customersToLookUp: "
            + "12 customers are being looked up again; until then Apple is asked about their receipts.",
        .clockDiffers(
            ClockDifference(
                of: Timestamp(milliseconds: 1_000), readBetween: Timestamp(milliseconds: 4_000),
                and: Timestamp(milliseconds: 4_100))):
            "clockDiffersFromDatabase: "
            + "Correct the clock that is wrong: the database's clock is 3000 ms behind this machine's.",
        .certificateEnds(days: 13): "certificateEnds: The TLS certificate of the listener expires in 13 days.",
        .certificateEnds(days: -1):
            "certificateEnds: The TLS certificate of the listener has expired; clients reject it.",
        .keyUnusable("KEY0000001", of: app, "no PEM"):
            "keyUnusable: "
            + "com.example.app: the private key KEY0000001 is unusable (no PEM); App Store Server API disabled for this app.",
        .rejected(.privateKey, of: app, 2):
            "keyRejected: "
            + "com.example.app: Apple has rejected the App Store Server API key (401) 2 times. The next source answers.",
        .rejected(.sharedSecret, of: app, 1):
            "sharedSecretRejected: "
            + "com.example.app: Apple has rejected the configured sharedSecret (21004) once. The next source answers.",
        .rejected(.appAppleId, of: app, 2):
            "appAppleIdContradicted: "
            + "com.example.app: an authentic receipt names another Apple ID than appAppleId (2 times), so notifications of "
            + "production are refused.",
        .appNotConfigured(1, "com.example.other.", unknownApps: .pass):
            "appNotConfigured: "
            + "One receipt of an app that is not configured, the last one within this hour: com.example.other. No shared "
            + "secret is added to them, so a subscription without a password gets 21004.",
        .appNotConfigured(2, "com.example.other.", unknownApps: .refuse):
            "appNotConfigured: "
            + "2 receipts of an app that is not configured, the last one within this hour: com.example.other. They get 21003.",
        .upstreamFailing("history", .production, failed: 3, asked: 12):
            "upstreamFailing: history, Production: 3 of 12 requests got no response since the start.",
        .upstreamLeftAlone("https://buy.itunes.apple.com:443"):
            "upstreamLeftAlone: "
            + "https://buy.itunes.apple.com:443: circuit breaker open; requests use the next source until the host responds "
            + "again.",
        .budgetLow("history", .sandbox, left: 9, of: 100, for: app):
            "budgetLow: com.example.app: hourly budget low: 9 of 100 calls left to history, Sandbox.",
        .rolloutStopped(of: app, "stopped after 28 customers"):
            "rolloutStopped: com.example.app: stopped after 28 customers",
        .forwardingDead(4, of: app): "forwardingDead: com.example.app: 4 notification deliveries failed for good.",
    ]

    @Test("Each warning has a code and a sentence, and names its app")
    func texts() {
        for (warning, text) in Self.all {
            #expect("\(warning.code.rawValue): \(warning.detail)" == text)
            #expect((warning.bundleId != nil) == warning.detail.hasPrefix("com.example.app: "))
        }
        #expect(Set(Self.all.map(\.key.code)) == Set(HealthWarning.Code.allCases))
    }

    @Test("/readyz warns of a secret, a key and an Apple ID that Apple contradicts, and of a host that fails")
    func conditions() async throws {
        try await Proxy.serving(with: .init(isGuarded: true)) { settings, app in
            app.answer = [.api, .apple, .receipt]
            app.sharedSecret = SharedSecret("fedcba9876543210fedcba9876543210")
            app.appAppleId = 5
            app.serverAPI = app.serverAPI.map {
                ServerAPIAccount(
                    issuerId: "other", keyId: "OTHER00001", bundleId: $0.bundleId, privateKey: $0.privateKey)
            }
            settings.verifyReceipt.sandbox = "http://127.0.0.1:9/verifyReceipt"
        } _: { proxy in
            func ask(_ environment: AppStoreEnvironment) async throws {
                _ = try await proxy.verify(
                    Question.body(try proxy.store.receipt(.activeSubscription, environment).base64))
            }
            try await ask(.production)
            for _ in 0..<5 { try await ask(.sandbox) }
            let codes =
                try await proxy.operations("/readyz").json["warnings"]?.elements?.compactMap { $0["code"]?.text } ?? []
            #expect(
                Set(codes).isSuperset(of: [
                    "keyRejected", "sharedSecretRejected", "appAppleIdContradicted", "upstreamFailing",
                    "upstreamLeftAlone",
                ]), "\(codes)")
        }
    }
}
