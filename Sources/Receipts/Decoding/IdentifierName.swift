import ReceiptBridgeBase

/// What the name of a column or of a JSON member says about its value.
///
/// Sources: StoreKit's `transactionIdentifier`, `originalTransactionID`; verifyReceipt's `original_transaction_id`,
/// `bid`; the App Store Server API's `originalTransactionId`, `bundleId`, `environment`; react-native-iap's and
/// expo-iap's
/// `originalTransactionIdentifierIOS`, `environmentIOS`, `appBundleIdIOS`; Unity's `TransactionID`; RevenueCat's
/// `store_transaction_id`; cordova-plugin-purchase's `type` and `id`; the column `unverifiedIds` of `migrate`.
enum IdentifierName: Hashable {
    case original
    case transaction
    case bundleId
    case environment
    /// An id of unknown kind.
    case id
    /// The kind of the object.
    case type

    /// Names as letters in lower case.
    private static let names: [String: IdentifierName] = [
        "bundleid": .bundleId, "bundleidentifier": .bundleId, "appbundleid": .bundleId, "bid": .bundleId,
        "environment": .environment, "id": .id, "type": .type, "unverifiedids": .transaction,
    ]

    /// Returns `nil` for a name that says nothing. Upper and lower case, and `_`, `-`, `.` and spaces do not matter.
    init?(_ name: ArraySlice<UInt8>) {
        var letters = name.filter { !"_-. ".utf8.contains($0) }.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        if letters.count > 3, letters.suffix(3).elementsEqual("ios".utf8) { letters.removeLast(3) }
        if letters[...].start(of: "transactionid".utf8) != nil {
            // The id of a download of the app is no transaction id.
            guard letters[...].start(of: "apptransactionid".utf8) == nil else { return nil }
            self = letters[...].start(of: "original".utf8) == nil ? .transaction : .original
        } else if let known = Self.names[String(decoding: letters, as: UTF8.self)] {
            self = known
        } else {
            return nil
        }
    }
}
