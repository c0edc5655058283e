package import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// A customer's download of the app: the fields of an app transaction.
///
/// https://developer.apple.com/documentation/appstoreserverapi/jwsapptransactiondecodedpayload
extension SimulatedCustomer {
    /// - Parameter isOfDevice: whether it is the one on the customer's device, which has more fields than that of the
    ///   Server API and of notifications.
    package func appTransaction(
        receiptCreationDate: Timestamp, bundleId: String = SimulatedApp.first.bundleId, isOfDevice: Bool = false
    ) -> JSONValue? {
        guard hasAppTransaction else { return nil }
        let isProduction = environment == .production
        let version = isProduction ? 860_000_001 : 0
        // The verification value is computed as Apple documents it:
        // https://developer.apple.com/documentation/storekit/apptransaction/deviceverification
        let nonce = SplitMix64.uuid(named: "device.\(environment.rawValue).\(id)")
        let verification = SHA.digest(Array((nonce + vendorIdentifier.lowercased()).utf8), with: .sha384)
        return JSONValue([
            "receiptType": environment.rawValue,
            // Absent in the sandbox.
            "appAppleId": isProduction ? SimulatedApp.first.appAppleId : nil, "bundleId": bundleId,
            "applicationVersion": isOfDevice ? "42" : nil,
            "versionExternalIdentifier": isOfDevice ? version : nil,
            "receiptCreationDate": receiptCreationDate.milliseconds,
            "originalPurchaseDate": originalPurchaseDate.milliseconds,
            "originalApplicationVersion": originalApplicationVersion,
            "deviceVerification": isOfDevice ? Base64.encode(verification) : nil,
            "deviceVerificationNonce": isOfDevice ? nonce : nil,
            "preorderDate": preorderDate?.milliseconds, "appTransactionId": appTransactionId,
            "originalPlatform": originalPlatform,
        ])
    }
}
