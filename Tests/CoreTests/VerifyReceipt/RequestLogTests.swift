import ReceiptBridgeBase
import ReceiptBridgeCore
import InMemoryLogging
import Logging
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Rate limit of the request log")
struct RequestLogTests {
    /// A receipt that claims to be of an app, but is signed by a foreign authority.
    private func claim(_ bundleId: String) throws -> String {
        Base64.encode(
            try AppReceiptEncoder(signer: SharedSimulator.foreign.receiptSigner).encode(
                payload: DEREncoder.set(
                    [
                        ReceiptBridgeSimulator.ReceiptAttribute.text(0, "Production"), .text(2, bundleId),
                        .date(12, MintedReceipts.creation),
                    ].map(\.der), sorted: false)))
    }

    // T33
    @Test("Apps that are not configured share one line a minute, and each configured app has its own")
    func rateLimit() async throws {
        let handler = InMemoryLogHandler()
        let proxy = try TestProxy(
            ScriptedAppStore { _ in .status(21003) }, logger: Logger(label: "test") { _ in handler })
        func lines() -> [String] {
            handler.entries.filter { $0.level >= .notice }.map { entry in
                let shown = ["bundleId", "status", "suppressed"].map { entry.metadata[$0].map { "\($0)" } ?? "-" }
                return "\(entry.level) \(entry.message): \(shown.joined(separator: " "))"
            }
        }
        for index in 0..<50 { _ = await proxy.ask(try claim("com.example.\(index)")) }
        for _ in 0..<3 { _ = await proxy.ask(try claim("com.example.app")) }
        #expect(
            lines() == [
                "notice forwarding Apple's response: com.example.0 21003 -",
                "notice forwarding Apple's response: com.example.app 21003 -",
            ])
        proxy.clock.now = proxy.clock.now.advanced(by: .minutes(1))
        for index in 50..<52 { _ = await proxy.ask(try claim("com.example.\(index)")) }
        #expect(lines().dropFirst(2) == ["notice forwarding Apple's response: com.example.50 21003 49"])
    }

    // T33
    @Test("A misspelt bundle id is logged once a minute, with the app that arrives and the one that may be meant")
    func misspelt() async throws {
        for (unknownApps, status) in [(ProxyConfiguration.UnknownApps.pass, "21004"), (.refuse, "21003")] {
            let handler = InMemoryLogHandler()
            let proxy = try TestProxy(logger: Logger(label: "test") { _ in handler }) { settings, app in
                settings.unknownApps = unknownApps
                app.bundleId = BundleIdentifier(rawValue: "com.exmaple.app")
            }
            for _ in 0..<3 { _ = await proxy.ask(try SharedSimulator.receipt(.activeSubscription).base64) }
            _ = await proxy.ask(try claim("com.example.forged"))
            let warnings = handler.entries.filter { $0.level == .warning }.map(\.metadata)
            #expect(warnings.map { $0["bundleId"] } == ["com.example.app"])
            let reason = warnings.first?["reason"].map { "\($0)" } ?? ""
            #expect(
                reason.hasPrefix(
                    "com.example.app is not configured (configured: com.exmaple.app). Did you mean com.example.app "
                        + "instead of com.exmaple.app?"))
            #expect(warnings.first?["status"].map { "\($0)" } == status)
            #expect(reason.contains("21004: the request has no password, and no shared secret") == (status == "21004"))
        }
    }

    @Test("Receipts of any app are expected if none is configured")
    func noApps() async throws {
        let handler = InMemoryLogHandler()
        let proxy = try TestProxy(logger: Logger(label: "test") { _ in handler }) { $1.bundleId = nil }
        _ = await proxy.ask(try SharedSimulator.receipt(.activeSubscription).base64)
        #expect(handler.entries.allSatisfy { $0.level < .warning })
    }

    // T33
    @Test("Requests with made-up bundle ids do not suppress the warnings of configured apps")
    func configuredApps() async throws {
        let handler = InMemoryLogHandler()
        let proxy = try TestProxy(
            ScriptedAppStore { $0.index < 20 ? .http(503) : .status(21004) },
            logger: Logger(label: "test") { _ in handler })
        for index in 0..<20 { _ = await proxy.ask(try claim("com.example.\(index)")) }
        #expect(
            handler.entries.filter {
                $0.message.description.hasPrefix("Apple's verifyReceipt is unavailable") && $0.level == .warning
            }.count == 1)
        _ = await proxy.ask(try SharedSimulator.receipt(.activeSubscription).base64)
        #expect(
            handler.entries.filter { $0.level == .error }.map { "\($0.message)" } == [
                "Apple rejected the configured sharedSecret (21004); trying the next source"
            ])
    }
}
