import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation

extension Doctor {
    static var selfTest: CheckResult {
        do throws(CryptographyError) {
            try SelfTest.run()
            return CheckResult("openssl", .pass, "verifies SHA-1 and RSA-1024, as old receipts need")
        } catch {
            return CheckResult(
                "openssl", .fail, error.reason,
                advice: "allow SHA-1 signatures and short RSA keys in the system's crypto policy, for this process")
        }
    }
}

extension Doctor {
    var rootChecks: [CheckResult] {
        do {
            let builtIn = try TrustAnchors.apple().roots
            return builtIn.map { root($0, isAdded: false) }
                + (try settings.trustedRoots.map { root(try Certificate(der: $0.span), isAdded: true) })
        } catch {
            return [CheckResult("root", .fail, "\(error)")]
        }
    }

    /// An expired root is a warning, because it still verifies old signatures.
    private func root(_ certificate: Certificate, isAdded: Bool) -> CheckResult {
        let day = Timestamp(seconds: certificate.validity.upperBound).iso8601Date
        let text = "\(certificate.commonName ?? "without a name"), until \(day), \(isAdded ? "added" : "built in")"
        if certificate.validity.upperBound < now().seconds {
            return CheckResult(
                "root", .warn, "\(text): expired; signatures made before its expiry are still valid",
                advice: "install a newer version of receipt-bridge")
        }
        guard isAdded else { return CheckResult("root", .pass, text) }
        return CheckResult(
            "root", .warn, text, advice: "only for simulators: anyone with its private key can create receipts")
    }
}
