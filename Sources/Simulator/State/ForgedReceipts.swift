import Base
package import Cryptography

/// Forged receipts, which claim purchases that were not made and which a verifier must reject, and changed forms of
/// transactionReceipts that are still authentic.
extension SimulatedStore {
    /// Returns forgeries of an App Receipt.
    func forgeries(of receipt: IssuedReceipt) throws -> [HostileReceipt] {
        let content = AppReceiptContent(receipt.plan, of: receipt.customer)
        var swapped = AppReceiptEncoder.Options()
        var richer = content
        richer.purchases.append(
            AppReceiptPurchase(
                productId: SimulatedProduct.yearly.productId, transactionId: "999999999999999",
                purchaseDate: content.creationDate, productType: 3,
                expiresDate: Timestamp(seconds: content.creationDate.seconds + 31_536_000)))
        swapped.swappedPayload = richer.payload()
        var stripped = AppReceiptEncoder.Options()
        stripped.stripsSignature = true
        let forged: [(String, [UInt8])] = [
            ("tamperedByte", tampered(receipt)),
            ("foreignRoot", try encode(content, by: pki.foreignReceiptSigner())),
            ("developerCertificate", try encode(content, by: pki.developerCertificate())),
            ("unmarkedAuthority", try encode(content, by: pki.signerBelowUnmarkedAuthority())),
            ("nonAuthority", try encode(content, by: pki.signerBelowNonAuthority())),
            ("expiredSigner", try encode(content, by: pki.expiredSigner())),
            ("swappedContent", try AppReceiptEncoder(signer: pki.receiptSigner, options: swapped).encode(content)),
            ("strippedSignature", try AppReceiptEncoder(signer: pki.receiptSigner, options: stripped).encode(content)),
            ("xcodeReceipt", try XcodeReceipt.encode(content)),
        ]
        return forged.map { HostileReceipt($0.0, Base64.encode($0.1), of: receipt, .refused, 21003) }
    }

    private func encode(_ content: AppReceiptContent, by signer: ReceiptSigner) throws -> [UInt8] {
        try AppReceiptEncoder(signer: signer).encode(content)
    }

    /// Returns the receipt with one changed bit in a product id.
    private func tampered(_ receipt: IssuedReceipt) -> [UInt8] {
        var bytes = receipt.bytes
        let name = Array((receipt.transactions.first?.product.productId ?? SimulatedApp.first.bundleId).utf8)
        if let range = bytes.firstRange(of: name) { bytes[range.upperBound - 1] ^= 1 }
        return bytes
    }

    /// Returns modified forms and forgeries of a transactionReceipt.
    func transactionReceiptForgeries(of receipt: IssuedReceipt) throws -> [HostileReceipt] {
        let entries = PurchaseInfo.entries(receipt.plan, of: receipt.customer)
        let purchaseInfo = TransactionReceiptEncoder.list(entries)
        let encoder = issuer.transactionEncoder(receipt.plan.version ?? 4, receipt.environment)
        var edited = encoder
        edited.options.swappedPurchaseInfo = TransactionReceiptEncoder.list(
            entries.map { $0.key == "product-id" ? .init($0.key, SimulatedProduct.yearly.productId) : $0 })
        var oneLine = encoder
        oneLine.options.oneLine = true
        return [
            HostileReceipt(
                "transactionReceiptLines", ReceiptEncodingVariant.lines(receipt.base64, width: 64, separator: "\r\n"),
                of: receipt,
                .decoded, 0),
            HostileReceipt(
                "transactionReceiptOneLine", Base64.encode(try oneLine.encode(purchaseInfo: entries)), of: receipt,
                .decoded, 0),
            HostileReceipt("purchaseInfoOnly", Base64.encode(purchaseInfo), of: receipt, .refused, 21002),
            HostileReceipt(
                "editedPurchaseInfo", Base64.encode(try edited.encode(purchaseInfo: entries)), of: receipt, .refused,
                21003),
            try editedEnvironment("environmentLineAdded", of: receipt, line: "Sandbox"),
        ]
    }

    /// Returns the receipt with another `environment` line. The signature is still valid, because it does not cover
    /// that line. In the environment that the ids indicate, the status is 0.
    func editedEnvironment(
        _ mangling: String, of receipt: IssuedReceipt, line: String?
    ) throws -> HostileReceipt {
        var encoder = issuer.transactionEncoder(receipt.plan.version ?? 4, receipt.environment)
        encoder.options.environmentLine = line
        let bytes = try encoder.encode(purchaseInfo: PurchaseInfo.entries(receipt.plan, of: receipt.customer))
        return HostileReceipt(mangling, Base64.encode(bytes), of: receipt, .decoded, 0)
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
