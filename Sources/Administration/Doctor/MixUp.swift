import ReceiptBridgeCore

extension Doctor {
    var mixUps: [CheckResult] {
        [
            ("verifyReceipt.production", settings.verifyReceipt.production),
            ("verifyReceipt.sandbox", settings.verifyReceipt.sandbox),
            ("serverAPI.production", settings.serverAPI.production), ("serverAPI.sandbox", settings.serverAPI.sandbox),
        ].compactMap { key, text in
            MixUp.problem(ofUpstream: key, text).map {
                CheckResult(
                    "configuration", $0.isCertain ? .fail : .warn, "upstream.\(key): \($0.sentence)",
                    advice: "correct it, or remove it for Apple's address")
            }
        }
    }
}
