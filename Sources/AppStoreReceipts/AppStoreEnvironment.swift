import ReceiptBridgeBase

/// An environment of the App Store. What Xcode signs is refused, so it has no case here.
public enum AppStoreEnvironment: String, Sendable, CaseIterable {
    /// The App Store.
    case production = "Production"
    /// The sandbox, which TestFlight and App Review use.
    case sandbox = "Sandbox"

    var base: ReceiptBridgeBase.AppStoreEnvironment {
        switch self {
        case .production: .production
        case .sandbox: .sandbox
        }
    }
}
