import AppStoreReceipts
import AppStoreReceiptsTesting
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// Verifiers that trust simulated App Stores.
enum Verifier {
    /// 2026-11-21T12:00:00Z, the time of the samples.
    static let noon = Date(timeIntervalSince1970: 1_795_262_400)

    /// A verifier that trusts the roots in `Receipts/`.
    static func ofSamples(
        bundleId: String = "com.example.app", appAppleId: Int64? = nil, _ environment: AppStoreEnvironment = .production
    ) throws -> SignedDataVerifier {
        func certificates(_ name: String) throws -> [Data] {
            let folder = SampleReceipts.folder.appending(path: name)
            return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).map {
                try Data(contentsOf: $0)
            }
        }
        return try SignedDataVerifier(
            bundleId: bundleId, appAppleId: appAppleId, environment: environment,
            rootCertificates: certificates("roots"), intermediateCertificates: certificates("intermediates"))
    }

    /// The App Store for tests of other packages.
    static let store = Result { try TestAppStore() }

    /// A verifier that trusts the root of the shared simulator's JWS.
    static func ofJWS(appAppleId: Int64? = nil) throws -> SignedDataVerifier {
        try SignedDataVerifier(
            bundleId: "com.example.app", appAppleId: appAppleId,
            rootCertificates: [Data(SharedSimulator.pki.jwsRoot.certificate)])
    }

    /// Signs claims as the App Store does.
    static func jws(_ claims: Claims, changed changes: Claims = [:]) throws -> String {
        try SharedSimulator.pki.jwsSigner.jws(
            payload: .object(JSONValue.members(claims) + JSONValue.members(changes)))
    }

    /// A signed transaction of a subscription.
    static func transaction(_ changes: Claims = [:]) throws -> String {
        try jws(
            [
                "transactionId": "700000000000102", "originalTransactionId": "700000000000101",
                "bundleId": "com.example.app", "productId": "com.example.app.monthly",
                "type": "Auto-Renewable Subscription", "environment": "Production",
                "purchaseDate": 1_795_262_400_000, "expiresDate": 1_797_854_400_000, "quantity": 1,
                "inAppOwnershipType": "PURCHASED", "offerType": 9, "price": 9_990, "signedDate": 1_795_262_400_123,
            ], changed: changes)
    }

    /// A signed renewal of the same subscription.
    static func renewal() throws -> String {
        try jws([
            "originalTransactionId": "700000000000101", "autoRenewStatus": 1,
            "autoRenewProductId": "com.example.app.monthly", "productId": "com.example.app.monthly",
            "environment": "Production", "signedDate": 1_795_262_400_123,
        ])
    }

    typealias Claims = KeyValuePairs<String, (any JSONRepresentable)?>
}

extension SampleReceipt {
    /// The receipt in base64.
    var text: String { get throws { String(decoding: try bytes(of: "receipt.b64").dropLast(), as: UTF8.self) } }

    static func named(_ name: String) throws -> SampleReceipt {
        try #require(SampleReceipts.all.first { $0.description == name })
    }
}

/// Returns the error of a call; `nil` if it succeeds.
func refusal<Value>(_ body: () throws(VerificationError) -> Value) -> VerificationError? {
    do throws(VerificationError) {
        _ = try body()
        return nil
    } catch {
        return error
    }
}
