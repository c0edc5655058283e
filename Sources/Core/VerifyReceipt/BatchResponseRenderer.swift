package import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeResponses

/// Renders the response of the source `api` to a stored receipt, from records that were looked up before, as for a
/// request with the app's secret.
package struct BatchResponseRenderer: Sendable {
    private let decoder: ReceiptDecoder
    private let renderer: VerifyReceiptRenderer
    private let apps: AppRegistry

    package init(settings: ProxyConfiguration, trust: TrustStore) {
        decoder = ReceiptDecoder(trust: trust, profile: .tolerant)
        renderer = VerifyReceiptRenderer(tables: settings.tables)
        apps = AppRegistry(settings: settings)
    }

    /// Returns the body of the response. `nil` if the source has none: for a receipt that is not authentic, for a
    /// customer unknown to the App Store Server API, and for an iOS 6 receipt of a subscription without a status.
    ///
    /// - Parameters:
    ///   - records: `nil` if the Server API was not called, or does not know the customer.
    ///   - time: the `request_date` of the response.
    ///   - excludesOldTransactions: the request's `exclude-old-transactions`.
    package func answer(
        to stored: DecodedReceipt, records: CustomerRecords?, at time: Timestamp, excludesOldTransactions: Bool = false
    ) -> [UInt8]? {
        guard records != nil || stored.lookupKeys.isEmpty, let bytes = stored.bytes?.reveal(),
            let receipt = try? decoder.decode(Base64Text.encode(bytes).span)
        else { return nil }
        if let records, case .transaction(let contents) = receipt.contents, contents.lacksStatus(in: records) {
            return nil
        }
        let app = apps.configured(receipt.bundleId) ?? AppConfiguration(bundleId: receipt.bundleId)
        let history = PurchaseHistory(
            receipt: receipt, records: records, configuredAppAppleId: app.appAppleId,
            dropsRefundedConsumables: app.refundedConsumables == .drop)
        let options = AnswerOptions(
            excludesOldTransactions: excludesOldTransactions, latestReceiptInfoOrder: app.latestReceiptInfoOrder,
            latest: app.sharedSecret == nil ? .ofSubscriptions : .ofPurchases)
        return renderer.answer(history: history, requestDate: time, options: options).body
    }
}
