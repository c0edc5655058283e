package import ReceiptBridgeAppStore
import ReceiptBridgeBase
import Foundation
package import ReceiptBridgeReceipts
package import ReceiptBridgeTransport

/// Apple's verifyReceipt for batch work: comparisons. Calls production first, and the sandbox on 21007, as for a
/// client. The apps' rules are not checked, because an operator compares receipts of their own and no client gets these
/// responses.
package struct BatchVerifyReceiptClient: Sendable {
    /// The reason why Apple has no response now.
    package struct Unavailable: Error, Sendable {
        package let reason: String
        /// Whether no connection could be made. Other receipts would fail the same way.
        package let isUnreachable: Bool
    }

    private let source: VerifyReceiptSource
    private let apps: AppRegistry

    /// - Throws: ``ConfigurationError`` if the settings name something unusable, for example an endpoint that is no
    ///   URL.
    package init(settings: ProxyConfiguration, transport: any HTTPTransport) throws {
        source = try VerifyReceiptSource(settings: settings, transport: transport) { try? await Task.sleep(for: $0) }
        apps = AppRegistry(settings: settings)
    }

    /// Returns Apple's response to a receipt. The request holds the shared secret of the app.
    ///
    /// - Throws: ``Unavailable`` if Apple has none after all retries.
    package func answer(to receipt: DecodedReceipt) async throws(Unavailable) -> AppleResponse {
        guard let bytes = receipt.bytes?.reveal() else {
            throw Unavailable(reason: "the stored text holds no receipt that could be sent", isUnreachable: false)
        }
        var writer = JSONWriter(reserving: bytes.count * 4 / 3 + 256)
        writer.beginObject()
        writer.key("receipt-data")
        writer.value(utf8: Base64Text.encode(bytes))
        let app = receipt.bundleId.flatMap(BundleIdentifier.init(rawValue:)).flatMap(apps.configured)
        if let secret = app?.sharedSecret {
            writer.key("password")
            writer.value(secret.reveal())
        }
        writer.endObject()
        let outcome = await source.answer(
            body: writer.finish(), route: .auto, isVerifiedHere: receipt.isVerified, owner: "",
            within: ProxyConfiguration.defaultDeadline)
        switch outcome {
        case .pass(let answer, _): return answer
        case .unavailable(_, _, let reason, _, let isUnreachable):
            throw Unavailable(reason: reason, isUnreachable: isUnreachable)
        case .sandboxDenied: throw Unavailable(reason: "the receipt is from the sandbox", isUnreachable: false)
        }
    }
}
