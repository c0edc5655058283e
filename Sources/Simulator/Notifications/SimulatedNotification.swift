package import StoreTypes

/// An App Store Server Notification: the event, and the transaction and renewal in their state after it.
///
/// Format and names:
/// https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2decodedpayload
package struct SimulatedNotification: Sendable, Hashable {
    /// The same for every attempt, every duplicate and in the notification history; receivers detect duplicates by
    /// it.
    package let uuid: String
    package let type: String
    /// `nil` if the payload has no `subtype`.
    package let subtype: String?
    package let environment: AppStoreEnvironment
    /// `nil` if the notification is not about one customer.
    package let customerId: String?
    /// Date of the event. It is the `signedDate` of the payload and of both signed records, even if they are signed
    /// later.
    package let date: Timestamp
    package let transaction: SimulatedTransaction?
    /// Only for auto-renewable subscriptions.
    package let renewal: SimulatedRenewal?
    /// Only for `CONSUMPTION_REQUEST`.
    package var consumptionRequestReason: String?
    /// Only for `RENEWAL_EXTENSION` with `SUMMARY`.
    package var summary: ExtensionSummary?

    /// The result of an extension for all subscribers of a product.
    package struct ExtensionSummary: Sendable, Hashable {
        package let requestIdentifier: String
        package let productId: String
        /// Country codes with three letters, for example `USA`; empty if the request named none.
        package let storefronts: [String]
        package let succeeded: Int64
        package let failed: Int64
    }
}
