package import Base
import Cryptography

/// A customer's download of the app: the fields of an app transaction.
///
/// https://developer.apple.com/documentation/appstoreserverapi/jwsapptransactiondecodedpayload
package struct SimulatedAppTransaction: Sendable, Hashable {
    let customer: SimulatedCustomer
    /// Whether it is the one on the customer's device, which has more fields than that of the Server API and of
    /// notifications.
    var isOfDevice = false

    /// Returns the payload of the app transaction's JWS.
    package func row(
        receiptCreationDate: Timestamp, bundleId: String = SimulatedApp.first.bundleId
    ) -> JSONValue {
        let isProduction = customer.environment == .production
        let version = isProduction ? 860_000_001 : 0
        // The verification value is computed as Apple documents it:
        // https://developer.apple.com/documentation/storekit/apptransaction/deviceverification
        let nonce = SplitMix64.uuid(named: "device.\(customer.environment.rawValue).\(customer.id)")
        let verification = SHA.digest(Array((nonce + customer.vendorIdentifier.lowercased()).utf8), with: .sha384)
        return JSONValue([
            "receiptType": customer.environment.rawValue,
            // Absent in the sandbox.
            "appAppleId": isProduction ? SimulatedApp.first.appAppleId : nil, "bundleId": bundleId,
            "applicationVersion": isOfDevice ? "42" : nil,
            "versionExternalIdentifier": isOfDevice ? version : nil,
            "receiptCreationDate": receiptCreationDate.milliseconds,
            "originalPurchaseDate": customer.originalPurchaseDate.milliseconds,
            "originalApplicationVersion": customer.originalApplicationVersion,
            "deviceVerification": isOfDevice ? Base64.encode(verification) : nil,
            "deviceVerificationNonce": isOfDevice ? nonce : nil,
            "preorderDate": customer.preorderDate?.milliseconds, "appTransactionId": customer.appTransactionId,
            "originalPlatform": customer.originalPlatform,
        ])
    }
}

extension SimulatedCustomer {
    /// The customer's app transaction as the Server API returns it, or `nil` if there is none.
    package var appTransaction: SimulatedAppTransaction? {
        hasAppTransaction ? SimulatedAppTransaction(customer: self) : nil
    }
}
