package import ReceiptBridgeBase
package import ReceiptBridgeCryptography
package import ReceiptBridgeReceipts
package import ReceiptBridgeSimulator

/// Receipts in the genuine formats below test roots, and tools to forge them.
///
/// The keys are those of ``SharedSimulator``, because making keys takes half a second.
package enum MintedReceipts {
    package static var pki: TestPKI { get throws { try SharedSimulator.pki } }
    /// A tree with exactly Apple's names and keys of its own.
    package static var foreign: TestPKI { get throws { try SharedSimulator.foreign } }

    /// 2024-03-01T12:00:00Z, the creation date of the samples.
    package static let creation = Timestamp(seconds: 1_709_294_400)

    /// Trust anchors with the test root and, unless `knowsAuthorities` is false, the intermediates that
    /// transactionReceipts do not contain.
    package static func anchors(knowsAuthorities: Bool = true) throws -> TrustAnchors {
        let pki = try pki
        var authorities: [Certificate] = []
        for (_, certificate) in knowsAuthorities ? pki.intermediates : [] {
            authorities.append(try Certificate(der: certificate.span))
        }
        return TrustAnchors(roots: [try Certificate(der: pki.root.certificate.span)], intermediates: authorities)
    }

    package static func decoder(
        _ profile: ReceiptProfile = .apple, knowsAuthorities: Bool = true
    ) throws -> ReceiptDecoder {
        ReceiptDecoder(trust: try TrustStore(anchors: anchors(knowsAuthorities: knowsAuthorities)), profile: profile)
    }
}

extension MintedReceipts {
    /// Content of a sandbox receipt: a subscription with two periods and a consumable.
    package static func content(changing change: (inout AppReceiptContent) -> Void = { _ in }) -> AppReceiptContent {
        let month: Int64 = 30 * 86_400
        func period(_ id: String, from seconds: Int64) -> AppReceiptPurchase {
            AppReceiptPurchase(
                productId: "com.example.app.monthly", transactionId: id, originalTransactionId: "2000000000000301",
                purchaseDate: Timestamp(seconds: seconds), productType: 3,
                expiresDate: Timestamp(seconds: seconds + month))
        }
        var content = AppReceiptContent(
            environment: .sandbox, bundleId: "com.example.app", creationDate: creation,
            purchases: [
                period("2000000000000301", from: creation.seconds - month),
                period("2000000000000302", from: creation.seconds - 60),
                AppReceiptPurchase(
                    productId: "com.example.app.coins100", transactionId: "2000000000000305",
                    purchaseDate: Timestamp(seconds: creation.seconds - 3600), productType: 1),
            ])
        change(&content)
        return content
    }

    package static func app(
        signer: ReceiptSigner? = nil, content: AppReceiptContent = MintedReceipts.content(),
        changing change: (inout AppReceiptEncoder.Options) -> Void = { _ in }
    ) throws -> [UInt8] {
        var encoder = AppReceiptEncoder(signer: try signer ?? pki.receiptSigner)
        change(&encoder.options)
        return try encoder.encode(content)
    }

    package static func app(payload: [UInt8]) throws -> [UInt8] {
        try AppReceiptEncoder(signer: pki.receiptSigner).encode(payload: payload)
    }

    /// The attributes that most App Receipts in tests have in addition to the tested one: type, bundle id and
    /// creation date.
    package static let essentials: [ReceiptBridgeSimulator.ReceiptAttribute] = [
        .text(0, "Production"), .text(2, "com.example.app"), .date(12, creation),
    ]

    /// A signed receipt with these attributes in this order.
    package static func app(attributes: [ReceiptBridgeSimulator.ReceiptAttribute]) throws -> [UInt8] {
        try app(payload: DEREncoder.set(attributes.map(\.der), sorted: false))
    }
}

extension MintedReceipts {
    package typealias Entry = TransactionReceiptEncoder.Entry

    /// The lines of purchase-info: one production transaction.
    package static func purchaseInfo(
        transactionId: String = "700000000000123", purchased: Timestamp = creation
    ) -> [Entry] {
        [
            Entry("original-purchase-date-ms", String(purchased.milliseconds)),
            Entry("transaction-id", transactionId), Entry("original-transaction-id", "700000000000100"),
            Entry("quantity", "1"), Entry("product-id", "com.example.app.monthly"), Entry("bid", "com.example.app"),
            Entry("purchase-date-ms", String(purchased.milliseconds)), Entry("bvrs", "42"),
            Entry("expires-date", String(purchased.milliseconds + 2_592_000_000)),
        ]
    }

    package static func transaction(
        version: UInt8 = 3, signer: ReceiptSigner? = nil, purchaseInfo: [Entry] = MintedReceipts.purchaseInfo(),
        changing change: (inout TransactionReceiptEncoder.Options) -> Void = { _ in }
    ) throws -> [UInt8] {
        let usual = version == 2 ? try pki.purchaseSigner : try pki.receiptSigner
        var encoder = TransactionReceiptEncoder(
            signer: signer ?? usual, options: .init(version: version, environmentLine: nil, pod: "43"))
        change(&encoder.options)
        return try encoder.encode(purchaseInfo: purchaseInfo)
    }

    /// A transactionReceipt with any signed purchase-info text. `outer` writes the outer property list.
    package static func transaction(
        signing text: [UInt8], by signer: TestPKI? = nil,
        outer: (_ signature: String, _ purchaseInfo: String) -> String = MintedReceipts.plainList
    ) throws -> [UInt8] {
        let leaf = try (signer ?? pki).receiptLeaf
        let signature = try leaf.key.signature(over: [3] + text, digest: .sha1)
        let length = withUnsafeBytes(of: UInt32(leaf.certificate.count).bigEndian) { Array($0) }
        let blob = [3] + signature + length + leaf.certificate
        return Array(outer(Base64.encode(blob), Base64.encode(text)).utf8)
    }

    /// The outer property list as Apple writes it.
    package static func plainList(_ signature: String, _ purchaseInfo: String) -> String {
        "{\n\t\"signature\" = \"\(signature)\";\n\t\"purchase-info\" = \"\(purchaseInfo)\";\n\t\"pod\" = \"43\";\n\t"
            + "\"signing-status\" = \"0\";\n}"
    }
}

extension MintedReceipts {
    /// Base64 as clients send it.
    package static func base64(_ bytes: [UInt8]) -> [UInt8] { Array(Base64.encode(bytes).utf8) }

    /// One receipt of each format, for tests that damage them.
    package static func everyStyle() throws -> [(name: String, bytes: [UInt8])] {
        [
            ("App Receipt, SHA-256", try app()),
            ("App Receipt, SHA-1, BER", try app { ($0.digest, $0.indefiniteLength) = (.sha1, true) }),
            ("transactionReceipt, version 2", try transaction(version: 2)),
            ("transactionReceipt, version 3", try transaction(version: 3) { $0.environmentLine = "Sandbox" }),
            ("transactionReceipt, version 4", try transaction(version: 4)),
        ]
    }
}
