import Cryptography

extension AppReceiptContent {
    /// The attributes of the app (types 0 to 25), without the purchases.
    package var attributes: [ReceiptAttribute] {
        var random = SplitMix64(seed: opaqueSeed)
        let isProduction = appAppleId != 0
        let opaque = random.bytes(16)
        let device = random.bytes(16)
        let hash = SHA.digest(device + opaque + DEREncoder.utf8String(bundleId), with: .sha1)
        var list: [ReceiptAttribute] = [
            .text(0, receiptType), .number(1, appAppleId), .text(2, bundleId), .text(3, applicationVersion),
            ReceiptAttribute(4, version: 2, raw: opaque), ReceiptAttribute(5, raw: hash),
            ReceiptAttribute(6, raw: random.bytes(50 + Int(opaqueSeed % 40))),
            ReceiptAttribute(7, raw: random.bytes(50 + Int(opaqueSeed % 37))),
            .date(8, isProduction ? creationDate : nil), .number(9, 1_345_531_957),
            ReceiptAttribute(10, raw: DEREncoder.ia5String("4+")), .number(11, isProduction ? 17_483_651 : 0),
            .date(12, creationDate), .number(13, 180_602), .number(14, isProduction ? 76 : 0),
            .number(15, downloadId), .number(16, versionExternalIdentifier), .date(18, originalPurchaseDate),
            .text(19, originalApplicationVersion),
        ]
        if platform == 3 { list.append(.text(20, "")) }
        if let expirationDate { list.append(.date(21, expirationDate)) }
        list.append(.number(25, platform))
        return list.filter { !omittedTypes.contains($0.type) } + extraAttributes
    }

    /// Returns the signed payload: a SET of all attributes, with an attribute of type 17 for each purchase.
    ///
    /// Apple sorts the SET as DER requires; Xcode does not (`sorted: false`).
    package func payload(sorted: Bool = true) -> [UInt8] {
        let purchases = purchases.map { ReceiptAttribute(17, raw: $0.der).der }
        return DEREncoder.set(attributes.map(\.der) + purchases, sorted: sorted)
    }

    /// The purchases in the order of the sorted payload, which is also that of `in_app` in the response.
    package var purchasesInBlobOrder: [AppReceiptPurchase] {
        purchases.map { (purchase: $0, der: ReceiptAttribute(17, raw: $0.der).der) }
            .sorted { DEREncoder.precedes($0.der, $1.der) }
            .map(\.purchase)
    }
}
