/// The part of the App Store that a receipt, a transaction or an answer belongs to.
///
/// The raw value is Apple's own spelling in verifyReceipt answers and in the payloads of the App Store Server API.
package enum AppStoreEnvironment: String, Sendable, Hashable, CaseIterable, Codable {
    case production = "Production"
    case sandbox = "Sandbox"
    /// Signed on a developer's own machine by StoreKit Testing; never trusted, never asked about.
    case xcode = "Xcode"
}
