package import AppStore
package import Cryptography
import Foundation
import Purchases
import ReceiptDecoding
import Rendering
package import StoreTypes

/// What the source `api` would answer to a stored receipt, from records that are at hand.
package struct BatchResponseRenderer: Sendable {
    private let decoder: ReceiptDecoder
    private let renderer: VerifyReceiptRenderer
    private let apps: AppRegistry

    package init(settings: ProxyConfiguration, trust: TrustStore) {
        decoder = ReceiptDecoder(trust: trust, profile: .tolerant)
        renderer = VerifyReceiptRenderer(tables: settings.tables)
        apps = AppRegistry(settings: settings)
    }

    /// The answer's body; nil if the source has none: for what is no authentic receipt, for a customer whom the App Store
    /// Server API does not know, and for an iOS 6 receipt of a subscription without a status.
    ///
    /// - Parameters:
    ///   - records: nil if the Server API was not asked, or does not know the customer.
    ///   - time: the answer's `request_date`.
    ///   - excludesOldTransactions: as the request said.
    package func answer(
        to stored: DecodedReceipt, records: CustomerRecords?, at time: Timestamp, excludesOldTransactions: Bool = false
    ) -> [UInt8]? {
        guard records != nil || stored.lookupKeys.isEmpty, let bytes = stored.bytes?.reveal(),
            let receipt = try? decoder.decode([UInt8](Data(bytes).base64EncodedData()).span)
        else { return nil }
        if let records, case .transaction(let contents) = receipt.contents, contents.lacksStatus(in: records) {
            return nil
        }
        let app = apps.configured(receipt.bundleId)
        let history = PurchaseHistory(receipt: receipt, records: records, configuredAppAppleId: app?.appAppleId)
        let options = AnswerOptions(
            excludesOldTransactions: excludesOldTransactions,
            latestReceiptInfoOrder: app?.latestReceiptInfoOrder ?? .ascending)
        return renderer.answer(history: history, requestDate: time, options: options).body
    }
}
