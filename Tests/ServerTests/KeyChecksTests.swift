import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeServer
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Checks of private keys")
struct KeyChecksTests {
    @Test("However often warnings are requested, the keys sign once a minute")
    func interval() async throws {
        let checks = Atomic(0)
        let time = Mutex(ContinuousClock.now)
        let keys = KeyChecks(
            unusableKeys: { settings in
                var settings = settings
                let number = checks.add(1, ordering: .relaxed).newValue
                settings.apps[0].serverAPI = ServerAPIAccount(
                    issuerId: "issuer", keyId: "\(number)", bundleId: "com.example.app",
                    privateKey: .text(Redacted("no key at all")))
                return settings.unusableKeys
            }, now: { time.withLock { $0 } })
        var settings = ProxyConfiguration()
        settings.apps = [AppConfiguration(bundleId: BundleIdentifier(rawValue: "com.example.app"))]
        keys.check(settings)
        for _ in 0..<100 { #expect(keys.unusable(in: settings).map(\.keyId) == ["1"]) }
        time.withLock { $0 += .seconds(60) }
        #expect(keys.unusable(in: settings).map(\.keyId) == ["1"])
        #expect(await eventually(within: .seconds(10)) { keys.unusable(in: settings).map(\.keyId) == ["2"] })
        #expect(checks.load(ordering: .relaxed) == 2)
    }
}
