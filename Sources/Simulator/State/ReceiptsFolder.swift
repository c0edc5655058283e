package import Base
import Foundation

/// The folder `Receipts/` of the repository, with a subfolder for each case. Seed and clock are fixed. The demo and
/// the tests read it.
///
/// Keys are not stored. Each run signs with new ones, so all cases and the certificates are written together.
package struct ReceiptsFolder: Sendable {
    /// A case: its name, its description, the receipt, and the endpoint that it is sent to.
    private typealias Case = (
        name: String, about: String, receipt: String, endpoint: SimulatedVerifyReceipt.Endpoint
    )

    /// 2026-11-21T12:00:00Z.
    package static let clock = Timestamp(seconds: 1_795_262_400)
    package static let seed: UInt64 = 2026

    private let files: StateDirectory
    private let store: SimulatedStore

    /// Creates the store, with new keys unless `pki` is given.
    package init(_ path: String, pki: TestPKI? = nil) throws {
        files = try StateDirectory(path)
        store = try SimulatedStore(seed: Self.seed, customers: 40, clock: .fixed(Self.clock), pki: pki)
    }

    /// Writes all cases and the certificates.
    package func write() throws {
        try files.writeCertificates(store.pki)
        for entry in try cases() {
            let folder = try files.files.folder(entry.name)
            let request = JSONValue([
                "receipt-data": entry.receipt, "password": SimulatedApp.first.sharedSecret,
                "exclude-old-transactions": false,
            ])
            let answer = try store.verifyReceipt.answer(body: request.bytes, at: entry.endpoint)
            try folder.write("receipt.b64", entry.receipt + "\n")
            try folder.write("request.json", request.prettyBytes)
            try folder.folder("upstream").write("verifyReceipt.json", answer.prettyBytes)
            try folder.write("ABOUT.md", "# \(entry.name)\n\n\(entry.about)\n")
        }
        try open(to: files.files.directory)
    }

    private func cases() throws -> [Case] {
        let hostile = try store.hostileReceipts()
        func genuine(
            _ name: String, _ kind: CustomerKind, _ environment: AppStoreEnvironment, version: UInt8? = nil,
            _ about: String
        ) throws -> Case? {
            let receipt = store.receipts.first {
                $0.customer.kind == kind && $0.environment == environment
                    && ($0.plan.version == nil) == (version == nil)
            }
            guard var receipt else { return nil }
            if let version, version != receipt.plan.version { receipt = try signedAgain(receipt, version: version) }
            return (name, about, receipt.base64, environment == .production ? .production : .sandbox)
        }
        func forged(_ name: String, _ mangling: String, _ about: String) -> Case? {
            hostile.first { $0.mangling == mangling }.map { (name, about, $0.text, .production) }
        }
        return try [
            genuine(
                "app-receipt-active", .activeSubscription, .production,
                "An App Receipt of production: a non-consumable, and a monthly subscription that began with a free "
                    + "trial and is active. Status 0 with `latest_receipt_info` and `pending_renewal_info`."),
            genuine(
                "app-receipt-sandbox", .activeSubscription, .sandbox,
                "The same of the sandbox, asked at the sandbox endpoint; in production the answer would be 21007."),
            genuine(
                "app-receipt-consumable", .consumables, .production,
                "An App Receipt with one consumable that the app has not finished. The App Store's answer to the correct "
                    + "password has `latest_*`; ours has not, because no app with a secret is configured. The finished "
                    + "consumable is in the history only."),
            genuine(
                "app-receipt-no-purchases", .noPurchases, .production,
                "An App Receipt without any purchase: `in_app` is empty and there is nothing to look up."),
            genuine(
                "app-receipt-vpp", .volumePurchase, .production,
                "An App Receipt of a volume purchase: `receipt_type` is `ProductionVPP`, and it has an "
                    + "`expiration_date`."),
            genuine(
                "app-receipt-billing-retry", .billingRetry, .sandbox,
                "An App Receipt whose subscription could not be renewed: status 0, and `pending_renewal_info` says "
                    + "that Apple is still trying."),
            genuine(
                "ios6-v2-consumable", .oldPurchase, .production, version: 2,
                "A transactionReceipt of before 2016 (version 2, RSA-1024, SHA-1) for a consumable: the flat answer."),
            genuine(
                "ios6-v3-active", .oldActiveSubscription, .production, version: 3,
                "A transactionReceipt (version 3, RSA-2048, SHA-1) of an active subscription: status 0, "
                    + "`latest_receipt_info` is an object, `latest_receipt` another transactionReceipt."),
            genuine(
                "ios6-v3-expired", .oldExpiredSubscription, .production, version: 3,
                "A transactionReceipt of a subscription that is over: status 21006 and "
                    + "`latest_expired_receipt_info`."),
            genuine(
                "ios6-v4-active", .oldActiveSubscription, .production, version: 4,
                "A transactionReceipt as Apple signs it since 2023 (version 4, RSA-2048, SHA-256) of an active "
                    + "subscription. The answer has the same form as that to version 3."),
            forged(
                "tampered", "tamperedByte",
                "The first case with one bit of a product id changed: the signature does not hold. Status 21003."),
            forged(
                "foreign-root", "foreignRoot",
                "A well-formed App Receipt whose certificates have all of Apple's names, below another root. "
                    + "Status 21003."),
        ].compactMap { $0 }
    }

    /// Signs a recent transactionReceipt in an older version, whose genuine dates would be long past.
    private func signedAgain(_ receipt: IssuedReceipt, version: UInt8) throws -> IssuedReceipt {
        var plan = receipt.plan
        (plan.id, plan.version) = ("\(plan.id)-v\(version)", version)
        let issued = try store.issuer.issue(plan, for: receipt.customer)
        store.verifyReceipt.registry.add(issued)
        return issued
    }

    /// Makes all files readable for everyone, because they are part of the repository.
    private func open(to directory: String) throws {
        guard let names = FileManager.default.enumerator(atPath: directory) else { return }
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory)
        for case let name as String in names {
            let path = "\(directory)/\(name)"
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { continue }
            try FileManager.default.setAttributes(
                [.posixPermissions: isFolder.boolValue ? 0o755 : 0o644], ofItemAtPath: path)
        }
    }
}
