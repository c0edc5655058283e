package import ReceiptBridgeBase
package import ReceiptBridgeCryptography

/// A receipt that is damaged, encoded in another way or forged, with the expected results.
package struct HostileReceipt: Sendable, Hashable {
    /// The outcomes of a migration with the profile `tolerant` and without the Server API.
    package enum MigrationOutcome: String, Sendable, Hashable {
        case decoded, noTransactions, refused
    }

    /// Name of the modification, for example `spaceForPlus`.
    package let mangling: String
    package let text: String
    package let environment: AppStoreEnvironment
    package let style: String
    package let originalTransactionIds: [String]
    package let expected: MigrationOutcome
    /// Expected verifyReceipt status with strict reading: 21002, 21003 or 0.
    package let status: Int64

    package var id: String { "h-\(mangling)" }

    /// A line of `hostile.jsonl`.
    package var document: JSONValue {
        JSONValue([
            "id": id, "receipt": text, "environment": environment.rawValue, "style": style,
            "originalTransactionIds": originalTransactionIds, "mangling": mangling, "expected": expected.rawValue,
            "status": status,
        ])
    }

    init(_ mangling: String, _ text: String, of receipt: IssuedReceipt, _ expected: MigrationOutcome, _ status: Int64) {
        (self.mangling, self.text, self.expected, self.status) = (mangling, text, expected, status)
        environment = receipt.environment
        style = receipt.plan.style
        originalTransactionIds = receipt.originalTransactionIds
    }
}

extension SimulatedStore {
    /// Those for which the world has no suitable receipt are omitted.
    package func hostileReceipts() throws -> [HostileReceipt] {
        let app = receipts.first { $0.plan.version == nil && $0.hasAutoRenewable }
        // Only receipts of active subscriptions, whose genuine response has status 0.
        let running = receipts.filter { $0.plan.version ?? 0 >= 3 && $0.customer.expectedStatus == 0 }
        let old = running.first { $0.environment == .production }
        let oldSandbox = running.first { $0.environment == .sandbox }
        var list: [HostileReceipt] = []
        if let app {
            list += recodings(of: app)
            list += try nonReceipts(insteadOf: app)
            list += try forgeries(of: app)
        }
        if let padded = receipts.first(where: { $0.base64.hasSuffix("=") && $0.plan.version == nil }) {
            let bare = padded.base64.replacing("=", with: "")
            list.append(HostileReceipt("missingPadding", bare, of: padded, .decoded, 21002))
        }
        if let empty = receipts.first(where: { $0.transactions.isEmpty }) {
            list.append(
                HostileReceipt(
                    "percentEncodedWithoutPurchases", ReceiptEncodingVariant.percentEncoded(empty.base64), of: empty,
                    .noTransactions, 21002))
        }
        if let old { list += try transactionReceiptForgeries(of: old) }
        if let oldSandbox {
            list.append(try editedEnvironment("environmentLineRemoved", of: oldSandbox, line: nil))
        }
        return list
    }
}

/// Forged receipts, which claim purchases that were not made and which a verifier must reject, and changed forms of
/// transactionReceipts that are still authentic.
extension SimulatedStore {
    func forgeries(of receipt: IssuedReceipt) throws -> [HostileReceipt] {
        let content = AppReceiptContent(receipt.plan, of: receipt.customer)
        var richer = content
        richer.purchases.append(
            AppReceiptPurchase(
                productId: SimulatedProduct.yearly.productId, transactionId: "999999999999999",
                purchaseDate: content.creationDate, productType: 3,
                expiresDate: Timestamp(seconds: content.creationDate.seconds + 31_536_000)))
        let payload = richer.payload()
        let forged: [(String, [UInt8])] = [
            ("tamperedByte", tampered(receipt)),
            ("foreignRoot", try encode(content, by: pki.foreignReceiptSigner())),
            ("developerCertificate", try encode(content, by: pki.developerCertificate())),
            ("unmarkedAuthority", try encode(content, by: pki.signerBelowUnmarkedAuthority())),
            ("nonAuthority", try encode(content, by: pki.signerBelowNonAuthority())),
            ("expiredSigner", try encode(content, by: pki.expiredSigner())),
            ("swappedContent", try encode(content, by: pki.receiptSigner) { $0.swappedPayload = payload }),
            ("strippedSignature", try encode(content, by: pki.receiptSigner) { $0.stripsSignature = true }),
            ("xcodeReceipt", try XcodeReceipt.encode(content)),
        ]
        return forged.map { HostileReceipt($0.0, Base64.encode($0.1), of: receipt, .refused, 21003) }
    }

    private func encode(
        _ content: AppReceiptContent, by signer: ReceiptSigner,
        changing change: (inout AppReceiptEncoder.Options) -> Void = { _ in }
    ) throws -> [UInt8] {
        var encoder = AppReceiptEncoder(signer: signer)
        change(&encoder.options)
        return try encoder.encode(content)
    }

    private func tampered(_ receipt: IssuedReceipt) -> [UInt8] {
        var bytes = receipt.bytes
        let name = Array((receipt.transactions.first?.product.productId ?? SimulatedApp.first.bundleId).utf8)
        if let range = bytes.firstRange(of: name) { bytes[range.upperBound - 1] ^= 1 }
        return bytes
    }

    func transactionReceiptForgeries(of receipt: IssuedReceipt) throws -> [HostileReceipt] {
        let entries = PurchaseInfo.entries(receipt.plan, of: receipt.customer)
        let purchaseInfo = TransactionReceiptEncoder.list(entries)
        let edited = TransactionReceiptEncoder.list(
            entries.map { $0.key == "product-id" ? .init($0.key, SimulatedProduct.yearly.productId) : $0 })
        let forged: [(String, String, HostileReceipt.MigrationOutcome, Int64)] = [
            (
                "transactionReceiptLines",
                ReceiptEncodingVariant.lines(receipt.base64, width: 64, separator: "\r\n"), .decoded, 0
            ),
            ("transactionReceiptOneLine", try encode(receipt) { $0.oneLine = true }, .decoded, 0),
            ("purchaseInfoOnly", Base64.encode(purchaseInfo), .refused, 21002),
            ("editedPurchaseInfo", try encode(receipt) { $0.swappedPurchaseInfo = edited }, .refused, 21003),
        ]
        return forged.map { HostileReceipt($0.0, $0.1, of: receipt, $0.2, $0.3) }
            + [try editedEnvironment("environmentLineAdded", of: receipt, line: "Sandbox")]
    }

    /// Returns the receipt with another `environment` line. The signature is still valid, because it does not cover
    /// that line. In the environment that the ids indicate, the status is 0.
    func editedEnvironment(_ mangling: String, of receipt: IssuedReceipt, line: String?) throws -> HostileReceipt {
        HostileReceipt(mangling, try encode(receipt) { $0.environmentLine = line }, of: receipt, .decoded, 0)
    }

    private func encode(
        _ receipt: IssuedReceipt, changing change: (inout TransactionReceiptEncoder.Options) -> Void
    ) throws -> String {
        var encoder = issuer.pki.transactionEncoder(receipt.plan.version ?? 4, receipt.environment)
        change(&encoder.options)
        return Base64.encode(try encoder.encode(purchaseInfo: PurchaseInfo.entries(receipt.plan, of: receipt.customer)))
    }
}

/// Encodes receipts as StoreKit Testing in Xcode does: BER, few attributes, unsorted, signed by a self-signed
/// certificate.
package enum XcodeReceipt {
    package static func encode(_ content: AppReceiptContent) throws(CryptographyError) -> [UInt8] {
        var options = AppReceiptEncoder.Options()
        options.indefiniteLength = true
        options.namesDigestInSignatureAlgorithm = true
        var app: [ReceiptAttribute] = [
            .text(0, "Xcode"), .number(1, 0), .text(2, content.bundleId), .text(3, content.applicationVersion),
            ReceiptAttribute(4, raw: [1, 2, 3, 4, 5, 6, 7, 8]),
            ReceiptAttribute(5, raw: SHA.digest(Array(content.bundleId.utf8), with: .sha1)),
            .date(8, nil), .date(12, content.creationDate),
            ReceiptAttribute(21, raw: DEREncoder.ia5String("4001-01-01T00:00:00Z")),
        ]
        app += content.purchases.map { purchase in
            let attributes: [ReceiptAttribute] = [
                .number(1701, purchase.quantity), .text(1702, purchase.productId), .text(1703, "0"),
                .date(1704, purchase.purchaseDate), .date(1708, purchase.expiresDate), .number(1719, 0),
            ]
            return ReceiptAttribute(17, raw: DEREncoder.set(attributes.map(\.der), sorted: false))
        }
        let encoder = AppReceiptEncoder(signer: try TestPKI.xcodeSigner(), options: options)
        return try encoder.encode(payload: DEREncoder.set(app.map(\.der), sorted: false))
    }
}
