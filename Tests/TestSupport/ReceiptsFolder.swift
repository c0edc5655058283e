package import ReceiptBridgeBase
package import Foundation
package import ReceiptBridgeSimulator

/// Writes the cases of `Receipts/` except their descriptions and our responses. Seed and clock are fixed.
///
/// Keys are not stored. Each run signs with new ones, so all cases and the certificates are written together.
package struct ReceiptsFolder {
    /// 2026-11-21T12:00:00Z.
    package static let clock = Timestamp(seconds: 1_795_262_400)

    private static let genuine:
        [(name: String, kind: CustomerKind, environment: AppStoreEnvironment, version: UInt8?)] =
            [
                ("app-receipt-active", .activeSubscription, .production, nil),
                ("app-receipt-sandbox", .activeSubscription, .sandbox, nil),
                ("app-receipt-consumable", .consumables, .production, nil),
                ("app-receipt-no-purchases", .noPurchases, .production, nil),
                ("app-receipt-vpp", .volumePurchase, .production, nil),
                ("app-receipt-billing-retry", .billingRetry, .sandbox, nil),
                ("ios6-v2-consumable", .oldPurchase, .production, 2),
                ("ios6-v3-active", .oldActiveSubscription, .production, 3),
                ("ios6-v3-expired", .oldExpiredSubscription, .production, 3),
                ("ios6-v4-active", .oldActiveSubscription, .production, 4),
            ]

    private static let forged = [("tampered", "tamperedByte"), ("foreign-root", "foreignRoot")]

    private let folder: URL
    private let store: SimulatedStore

    /// Creates the store, with new keys unless `pki` is given.
    package init(_ folder: URL, pki: TestPKI? = nil) throws {
        self.folder = folder
        store = try SimulatedStore(seed: 2026, customers: 40, clock: .fixed(Self.clock), pki: pki)
    }

    package func write() throws {
        for root in store.pki.roots { try write("roots/\(root.name)", root.certificate) }
        for authority in store.pki.intermediates {
            try write("intermediates/\(authority.name)", authority.certificate)
        }
        for (name, kind, environment, version) in Self.genuine {
            let receipt = store.receipts.first {
                $0.customer.kind == kind && $0.environment == environment
                    && ($0.plan.version == nil) == (version == nil)
            }
            guard var receipt else { continue }
            if let version, version != receipt.plan.version { receipt = try signedAgain(receipt, version: version) }
            try write(name, receipt.base64, at: environment == .production ? .production : .sandbox)
        }
        let hostile = try store.hostileReceipts()
        for (name, mangling) in Self.forged {
            if let receipt = hostile.first(where: { $0.mangling == mangling }) {
                try write(name, receipt.text, at: .production)
            }
        }
    }

    private func write(_ name: String, _ receipt: String, at endpoint: SimulatedVerifyReceipt.Endpoint) throws {
        let request = JSONValue([
            "receipt-data": receipt, "password": SimulatedApp.first.sharedSecret, "exclude-old-transactions": false,
        ])
        let answer = try store.verifyReceipt.answer(body: request.bytes, at: endpoint)
        try write("\(name)/receipt.b64", Array("\(receipt)\n".utf8))
        try write("\(name)/request.json", request.prettyBytes)
        try write("\(name)/upstream/verifyReceipt.json", answer.prettyBytes)
    }

    private func write(_ name: String, _ bytes: [UInt8]) throws {
        let file = folder.appending(path: name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
    }

    /// Signs a recent transactionReceipt in an older version, whose genuine dates would be long past.
    private func signedAgain(_ receipt: IssuedReceipt, version: UInt8) throws -> IssuedReceipt {
        var plan = receipt.plan
        (plan.id, plan.version) = ("\(plan.id)-v\(version)", version)
        let issued = try store.issuer.issue(plan, for: receipt.customer)
        store.verifyReceipt.registry.add(issued)
        return issued
    }
}
