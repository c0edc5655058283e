import ReceiptBridgeCore
import Testing

@Suite("Values that belong elsewhere")
struct MixUpTests {
    @Test(
        "Letters, digits, hyphens and periods are a bundle id, and other ids are not",
        arguments: [
            ("com.example.app", true), ("com.example-1.App", true), ("App", true), ("2.com", true),
            ("“com.example.app”", false), ("com.example.*", false), ("12345", false), ("1234567890", false),
            ("com.example_app", false), ("ABCDE12345.com.example.app", false), ("com..app", false), (".com.app", false),
            ("com.example.app.", false), ("com.exämple.app", false), ("https://apps.apple.com/app", false),
        ])
    func bundleIds(text: String, isUsual: Bool) { #expect(MixUp.isBundleId(text) == isUsual) }

    private static let wrongService =
        "has the name of a key of the App Store Connect API or of another service; the files of In-App Purchase keys are "
        + "named SubscriptionKey_…"

    @Test(
        "The name of a key's file is compared with the keyId",
        arguments: [
            ("/a/SubscriptionKey_ABCDE12345.p8", nil), ("key.p8", nil), ("SubscriptionKey_.p8", nil), ("", nil),
            ("SubscriptionKey_ABCDE12345 (1).p8", nil),
            (
                "SubscriptionKey_ZZZZZZZZZZ.p8",
                "keyId is ABCDE12345, but the name of the file SubscriptionKey_ZZZZZZZZZZ.p8 says ZZZZZZZZZZ"
            ),
            ("AuthKey_ABCDE12345.p8", "AuthKey_ABCDE12345.p8 \(wrongService)"),
            ("/SubscriptionKey_ZZZZZZZZZZ/AuthKey_ZZZZZZZZZZ.p8", "AuthKey_ZZZZZZZZZZ.p8 \(wrongService)"),
        ])
    func keyFiles(path: String, problem: String?) {
        #expect(MixUp.problem(ofKeyFile: path, keyId: "ABCDE12345") == problem)
    }

    @Test(
        "The address of another service or environment is noticed",
        arguments: [
            "verifyReceipt.production https://buy.itunes.apple.com/verifyReceipt": nil,
            "verifyReceipt.sandbox https://sandbox.itunes.apple.com/verifyReceipt": nil,
            "serverAPI.production https://api.storekit.apple.com": nil,
            "serverAPI.production https://api.storekit.itunes.apple.com/": nil,
            "serverAPI.sandbox https://api.storekit-sandbox.apple.com": nil,
            "verifyReceipt.production http://127.0.0.1:8090/production/verifyReceipt": nil,
            "verifyReceipt.sandbox http://127.0.0.1:8090/sandbox/verifyReceipt": nil,
            "verifyReceipt.sandbox https://receipts.example.com/verifyReceipt": nil,
            "verifyReceipt.sandbox https://production.example.com/sandbox": nil,
            "verifyReceipt.production https://sandbox.itunes.apple.com/verifyReceipt":
                "sandbox.itunes.apple.com belongs to upstream.verifyReceipt.sandbox",
            "serverAPI.sandbox https://api.storekit.apple.com":
                "api.storekit.apple.com belongs to upstream.serverAPI.production",
            "serverAPI.production https://buy.itunes.apple.com/verifyReceipt":
                "buy.itunes.apple.com belongs to upstream.verifyReceipt.production",
            "serverAPI.production https://api.appstoreconnect.apple.com":
                "api.appstoreconnect.apple.com does not serve serverAPI.production",
            "verifyReceipt.production https://buy.itunes.apple.com":
                "expected https://buy.itunes.apple.com/verifyReceipt, not https://buy.itunes.apple.com",
            "verifyReceipt.production https://buy.itunes.apple.com/verifyReceipt/":
                "expected https://buy.itunes.apple.com/verifyReceipt, not https://buy.itunes.apple.com/verifyReceipt/",
            "serverAPI.sandbox https://api.storekit-sandbox.apple.com/inApps/v1":
                "expected https://api.storekit-sandbox.apple.com, not https://api.storekit-sandbox.apple.com/inApps/v1",
            "serverAPI.production http://127.0.0.1:8090/sandbox":
                "http://127.0.0.1:8090/sandbox seems to be for sandbox",
            "verifyReceipt.sandbox http://127.0.0.1:8090/production/verifyReceipt":
                "http://127.0.0.1:8090/production/verifyReceipt seems to be for production",
        ] as [String: String?])
    func upstreams(upstream: String, problem: String?) {
        let parts = upstream.split(separator: " ").map(String.init)
        #expect(MixUp.problem(ofUpstream: parts[0], parts[1])?.sentence == problem)
    }
}
