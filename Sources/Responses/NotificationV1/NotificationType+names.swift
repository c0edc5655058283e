import ReceiptBridgeBase
package import ReceiptBridgeReceipts

extension NotificationType {
    /// The names of both versions. Source of `RENEWAL`: Apple, "notification_type" of version 1.
    private static let names = Set(documented.map(\.type) + NotificationV1Type.allCases.map(\.rawValue) + ["RENEWAL"])

    /// Returns a sentence about a name that is not a type of either version; `nil` for a type.
    package static func unknown(_ name: String) -> String? {
        names.contains(name) ? nil : "\(name) is not a type of Apple's\(name.didYouMean(names))"
    }

    /// Returns a sentence about a name that is most likely a misspelling; `nil` for a type of Apple's, and for a name
    /// that resembles none, which may be a new one.
    package static func misspelling(_ name: String) -> String? {
        name.didYouMean(names).isEmpty ? nil : unknown(name)
    }
}
