package import Base
import Cryptography

/// A customer's download of the app: the fields of an app transaction.
///
/// https://developer.apple.com/documentation/appstoreserverapi/jwsapptransactiondecodedpayload
package struct SimulatedAppTransaction: Sendable, Hashable {
    /// The fields that only a device's app transaction has, not that of the Server API.
    package struct Device: Sendable, Hashable {
        /// UUID in lower case.
        package let nonce: String
        /// SHA-384 digest of the nonce and the device's identifier.
        package let verification: [UInt8]
    }

    package let environment: AppStoreEnvironment
    package let appTransactionId: String
    package let originalPurchaseDate: Timestamp
    package let originalApplicationVersion: String
    /// `iOS`, `macOS`, `tvOS` or `visionOS`.
    package let originalPlatform: String
    /// Date of the order, if the app was ordered before its release.
    package let preorderDate: Timestamp?
    /// `nil` for the app transaction of the Server API and of notifications.
    package var device: Device?

    /// Returns the payload of the app transaction's JWS.
    package func row(
        receiptCreationDate: Timestamp, bundleId: String = SimulatedApp.first.bundleId
    ) -> JSONValue {
        let isProduction = environment == .production
        return JSONValue([
            "receiptType": environment.rawValue,
            // Absent in the sandbox.
            "appAppleId": isProduction ? SimulatedApp.first.appAppleId : nil, "bundleId": bundleId,
            "applicationVersion": device.map { _ in "42" },
            "versionExternalIdentifier": device.map { _ in isProduction ? 860_000_001 : 0 },
            "receiptCreationDate": receiptCreationDate.milliseconds,
            "originalPurchaseDate": originalPurchaseDate.milliseconds,
            "originalApplicationVersion": originalApplicationVersion,
            "deviceVerification": device.map { Base64.encode($0.verification) },
            "deviceVerificationNonce": device?.nonce, "preorderDate": preorderDate?.milliseconds,
            "appTransactionId": appTransactionId, "originalPlatform": originalPlatform,
        ])
    }
}

extension SimulatedCustomer {
    /// The customer's app transaction as the Server API returns it, or `nil` if there is none.
    package var appTransaction: SimulatedAppTransaction? {
        guard hasAppTransaction else { return nil }
        return SimulatedAppTransaction(
            environment: environment, appTransactionId: appTransactionId, originalPurchaseDate: originalPurchaseDate,
            originalApplicationVersion: originalApplicationVersion, originalPlatform: originalPlatform,
            preorderDate: preorderDate)
    }

    /// The app transaction that StoreKit returns on the customer's device, or `nil` if there is none.
    ///
    /// The verification value is computed as Apple documents it:
    /// https://developer.apple.com/documentation/storekit/apptransaction/deviceverification
    var deviceAppTransaction: SimulatedAppTransaction? {
        let nonce = SplitMix64.uuid(named: "device.\(environment.rawValue).\(id)")
        var transaction = appTransaction
        transaction?.device = SimulatedAppTransaction.Device(
            nonce: nonce, verification: SHA.digest(Array((nonce + vendorIdentifier.lowercased()).utf8), with: .sha384))
        return transaction
    }
}
