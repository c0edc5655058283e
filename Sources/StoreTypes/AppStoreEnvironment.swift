/// The App Store environment that a receipt, a transaction or a response belongs to.
///
/// The raw value is Apple's own spelling in verifyReceipt responses and in the payloads of the App Store Server API.
package enum AppStoreEnvironment: String, Sendable, Hashable, CaseIterable, Codable {
    case production = "Production"
    case sandbox = "Sandbox"
    /// Signed on a developer's own machine by StoreKit Testing. Such data is never trusted, and no request is sent
    /// for it.
    case xcode = "Xcode"
}
