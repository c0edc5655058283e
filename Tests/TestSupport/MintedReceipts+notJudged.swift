import ReceiptBridgeCryptography
package import ReceiptBridgeReceipts
package import ReceiptBridgeSimulator

extension MintedReceipts {
    /// Receipts of forms that the decoder does not know, signed by this tree unless the form concerns the signer: what
    /// Apple could send one day. Each is not judged, with this code, if the decoder trusts this tree.
    package static func notJudged(
        by pki: TestPKI
    ) throws -> [(name: String, code: ReceiptDecodingError.Code, bytes: [UInt8])] {
        let signer = pki.receiptSigner
        let withoutDate = essentials.filter { $0.type != 12 }
        let undated = purchaseInfo().filter { $0.key != "purchase-date-ms" }
        let many = purchaseInfo() + (0..<300).map { Entry("future-\($0)", "1") }
        return try [
            (
                "transactionReceipt, version 5", .unsupportedVersion,
                transaction(version: 4, signer: signer) { $0.writtenVersion = 5 }
            ),
            (
                "transactionReceipt, nested list", .unknownStructure,
                transaction(signing: Array("{a = {b = c;};}".utf8), by: pki)
            ),
            (
                "transactionReceipt without a purchase date", .missingAttribute,
                transaction(version: 4, signer: signer, purchaseInfo: undated)
            ),
            (
                "transactionReceipt with 300 lines", .tooMany,
                transaction(version: 4, signer: signer, purchaseInfo: many)
            ),
            (
                "transactionReceipt, unknown intermediate", .issuerUnknown,
                transaction(version: 4, signer: foreign.receiptSigner)
            ),
            ("App Receipt, SHA-384", .unsupportedAlgorithm, app(signer: signer) { $0.digest = .sha384 }),
            ("App Receipt, ECDSA", .unsupportedAlgorithm, app(signer: pki.ecSigner())),
            ("App Receipt, two signers", .severalSigners, app(signer: signer) { $0.signerCount = 2 }),
            (
                "App Receipt, unknown receipt type", .unknownStructure,
                app(signer: signer, content: content { $0.receiptType = "ProductionFuture" })
            ),
            (
                "App Receipt, a SEQUENCE of attributes", .unknownStructure,
                AppReceiptEncoder(signer: signer).encode(payload: DEREncoder.sequence(essentials.map(\.der)))
            ),
            (
                "App Receipt without a creation date", .missingAttribute,
                AppReceiptEncoder(signer: signer).encode(payload: DEREncoder.set(withoutDate.map(\.der)))
            ),
        ]
    }
}
