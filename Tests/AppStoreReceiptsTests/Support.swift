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
    static func jws(_ members: [JSONValue.Member]) throws -> String {
        try SharedSimulator.pki.jwsSigner.jws(payload: .object(members))
    }

    /// A signed transaction of a subscription.
    static func transaction(_ changes: [JSONValue.Member] = []) throws -> String {
        try jws(
            [
                .init("transactionId", .string("700000000000102")),
                .init("originalTransactionId", .string("700000000000101")),
                .init("bundleId", .string("com.example.app")), .init("productId", .string("com.example.app.monthly")),
                .init("type", .string("Auto-Renewable Subscription")), .init("environment", .string("Production")),
                .init("purchaseDate", .number(1_795_262_400_000)), .init("expiresDate", .number(1_797_854_400_000)),
                .init("quantity", .number(1)), .init("inAppOwnershipType", .string("PURCHASED")),
                .init("offerType", .number(9)), .init("price", .number(9_990)),
                .init("signedDate", .number(1_795_262_400_123)),
            ] + changes)
    }

    /// A signed renewal of the same subscription.
    static func renewal() throws -> String {
        try jws([
            .init("originalTransactionId", .string("700000000000101")), .init("autoRenewStatus", .number(1)),
            .init("autoRenewProductId", .string("com.example.app.monthly")),
            .init("productId", .string("com.example.app.monthly")), .init("environment", .string("Production")),
            .init("signedDate", .number(1_795_262_400_123)),
        ])
    }
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
