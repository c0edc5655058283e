import ReceiptBridgeBase
import Foundation

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

extension Date {
    init(_ instant: Timestamp) { self.init(timeIntervalSince1970: Double(instant.milliseconds) / 1000) }
}

extension Timestamp {
    /// The milliseconds of a date, rounded to the nearest; of a date outside the years 0 to 9999, those of the nearest
    /// end.
    init(_ date: Date) {
        let seconds = date.timeIntervalSince1970
        let range = CivilTime.range
        let clamped = max(Double(range.lowerBound), min(seconds.isNaN ? 0 : seconds, Double(range.upperBound)))
        self.init(milliseconds: Int64((clamped * 1000).rounded()))
    }
}
