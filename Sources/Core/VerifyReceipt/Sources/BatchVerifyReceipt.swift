package import ReceiptBridgeAppStore
package import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeResponses
package import ReceiptBridgeTransport

/// The two responses to a stored receipt that a comparison has beside the records: Apple's, and that of the source
/// `api`, both as for a request with the app's secret. The apps' rules are not checked, because an operator compares
/// receipts of their own and no client gets these responses.
package struct BatchVerifyReceipt: Sendable {
    /// The reason why Apple has no response now.
    package struct Unavailable: Error, Sendable {
        package let reason: String
        /// Whether no connection could be made. Other receipts would fail the same way.
        package var isUnreachable = false
    }

    /// `nil` if there are no network connections.
    private let apple: VerifyReceiptSource?
    private let decoder: ReceiptDecoder
    private let renderer: VerifyReceiptRenderer
    private let apps: AppRegistry

    /// - Throws: ``ConfigurationError`` if the settings name something unusable, for example an endpoint that is no
    ///   URL.
    package init(settings: ProxyConfiguration, trust: TrustStore, transport: (any HTTPTransport)?) throws {
        apple = try transport.map { transport in
            try VerifyReceiptSource(settings: settings, transport: transport) { try? await Task.sleep(for: $0) }
        }
        decoder = ReceiptDecoder(trust: trust, profile: .tolerant)
        renderer = VerifyReceiptRenderer(tables: settings.tables)
        apps = AppRegistry(settings: settings)
    }

    /// Returns Apple's response: production's first, and the sandbox's on 21007.
    ///
    /// - Throws: ``Unavailable`` if Apple has none after all retries.
    package func answer(to receipt: DecodedReceipt) async throws(Unavailable) -> AppleResponse {
        guard let apple, let bytes = receipt.bytes?.reveal() else {
            throw Unavailable(reason: "the stored text holds no receipt that could be sent")
        }
        let app = receipt.bundleId.flatMap(BundleIdentifier.init(rawValue:)).flatMap(apps.configured)
        let body = JSONWriter.object(reserving: bytes.count * 4 / 3 + 256) {
            $0.key("receipt-data")
            $0.value(utf8: Base64Text.encode(bytes))
            if let secret = app?.sharedSecret { $0.member("password", secret.reveal()) }
        }
        let outcome = await apple.answer(
            body: body, route: .auto, isVerifiedHere: receipt.isVerified, owner: "",
            within: ProxyConfiguration.defaultDeadline)
        switch outcome {
        case .pass(let answer, _): return answer
        case .unavailable(_, _, let reason, _, let isUnreachable):
            throw Unavailable(reason: reason, isUnreachable: isUnreachable)
        case .sandboxDenied: throw Unavailable(reason: "the receipt is from the sandbox")
        }
    }

    /// Returns the body of the response of the source `api`. `nil` if it has none: for a receipt that is not authentic,
    /// for a customer unknown to the App Store Server API, and for an iOS 6 receipt of a subscription without a status.
    ///
    /// - Parameters:
    ///   - records: `nil` if the Server API was not called, or does not know the customer.
    ///   - time: the `request_date` of the response.
    ///   - excludesOldTransactions: the request's `exclude-old-transactions`.
    package func rendered(
        for stored: DecodedReceipt, records: CustomerRecords?, at time: Timestamp, excludesOldTransactions: Bool = false
    ) -> [UInt8]? {
        guard records != nil || stored.lookupKeys.isEmpty, let bytes = stored.bytes?.reveal(),
            let receipt = try? decoder.decode(Base64Text.encode(bytes).span)
        else { return nil }
        let item = AuthenticItem(receipt)
        if let records, item.lacksStatus(in: records) { return nil }
        let app = apps.configured(item.bundleId) ?? AppConfiguration(bundleId: item.bundleId)
        let history = item.history(
            records: records, appAppleId: app.appAppleId, dropsRefundedConsumables: app.refundedConsumables == .drop)
        let options = AnswerOptions(
            excludesOldTransactions: excludesOldTransactions, latestReceiptInfoOrder: app.latestReceiptInfoOrder,
            latest: app.sharedSecret == nil ? .ofSubscriptions : .ofPurchases)
        return renderer.answer(history: history, requestDate: time, options: options).body
    }
}
