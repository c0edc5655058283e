package import StoreTypes

/// One App Store Server Notification: what happened, and the records as that event left them.
///
/// Shape and names: https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2decodedpayload
package struct SimulatedNotification: Sendable, Hashable {
    /// The same for every attempt, copy and look into the history: receivers find repeats by it.
    package let uuid: String
    package let type: String
    /// Nil for none; then the payload has no such key.
    package let subtype: String?
    package let environment: AppStoreEnvironment
    /// Nil where the notification is about no customer.
    package let customerId: String?
    /// Of the event. The payload and both signed records carry it as `signedDate`, however late they are signed.
    package let date: Timestamp
    package let transaction: SimulatedTransaction?
    /// Of auto-renewable subscriptions only.
    package let renewal: SimulatedRenewal?
    /// Of `CONSUMPTION_REQUEST` only.
    package var consumptionRequestReason: String?
    /// Of `RENEWAL_EXTENSION` with `SUMMARY` only.
    package var summary: ExtensionSummary?

    /// How an extension for all subscribers went.
    package struct ExtensionSummary: Sendable, Hashable {
        package let requestIdentifier: String
        package let productId: String
        /// Alpha-3; empty where the request named none.
        package let storefronts: [String]
        package let succeeded: Int64
        package let failed: Int64
    }
}
