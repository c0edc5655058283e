import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// Reads the payload of an App Receipt: `SET OF ReceiptAttribute`, sometimes wrapped once more in an OCTET STRING.
///
/// If a single-valued attribute occurs more than once, the last one counts, both here and in ``Outline``.
enum AppReceiptAttributes {
    /// The three attributes that are read before the signature is verified: the date at which the signer's
    /// certificate chain is verified, and the two that select the route of a receipt that is not trusted.
    struct Outline: Sendable {
        /// Where the texts are in the payload.
        var receiptType = ReceiptText.none
        var bundleId = ReceiptText.none
        var receiptCreationDate: Timestamp?

        /// Whether the receipt is from StoreKit Testing in Xcode.
        func isXcode(in bytes: borrowing Span<UInt8>) -> Bool {
            guard let range = receiptType.range, range.count == 5 else { return false }
            return bytes.text(range) == "Xcode"
        }
    }

    static func cursor(over bytes: borrowing Span<UInt8>) throws(BERError) -> BERCursor {
        var outer = BERCursor(0..<bytes.count)
        let payload = try outer.next(in: bytes)
        if payload.tag == BERTag.octetString {
            var inner = payload.inside
            return try inner.next(BERTag.set, in: bytes).inside
        }
        guard payload.tag == BERTag.set else { throw BERError(.unexpectedTag, at: payload.start) }
        return payload.inside
    }

    /// Reads only the attributes of the outline and skips all others.
    static func outline(of bytes: borrowing Span<UInt8>) throws(ReceiptDecodingError) -> Outline {
        var outline = Outline()
        do throws(BERError) {
            var attributes = try cursor(over: bytes)
            while !attributes.isAtEnd {
                let attribute = try ReceiptAttribute(next: &attributes, in: bytes)
                switch attribute.type {
                case 0: outline.receiptType = try attribute.range(in: bytes, base: 0)
                case 2: outline.bundleId = try attribute.range(in: bytes, base: 0)
                case 12: outline.receiptCreationDate = try attribute.date(in: bytes)
                default: break
                }
            }
        } catch {
            throw ReceiptDecodingError(error, at: "attributes")
        }
        return outline
    }
}

extension AppReceipt {
    /// Limits far above the contents of any genuine receipt. They bound the memory that a forged receipt can use.
    static let maximumPurchases = 20_000
    static let maximumUnknownAttributes = 4_096
    /// The attributes that have a property.
    static let knownTypes: Set<Int64> = [0, 1, 2, 3, 4, 5, 8, 10, 12, 13, 15, 16, 17, 18, 19, 21, 25]

    /// Reads all attributes of a range of the bytes. The purchases keep the bytes, which contain their texts. Throws an
    /// error if the structure is broken or a limit is exceeded. The offsets in it count from the beginning of the
    /// range.
    init(attributes all: [UInt8], in range: Range<Int>) throws(ReceiptDecodingError) {
        self.init()
        let shared = Redacted(all)
        let bytes = all.span.extracting(range)
        var cursor: BERCursor
        do throws(BERError) { cursor = try AppReceiptAttributes.cursor(over: bytes) } catch {
            throw ReceiptDecodingError(error, at: "attributes")
        }
        let base = range.lowerBound
        unknown = .unread(ReceiptText(base + cursor.position..<base + cursor.end), of: shared)
        var unknownCount = 0
        while !cursor.isAtEnd {
            let attribute: ReceiptAttribute
            do throws(BERError) { attribute = try ReceiptAttribute(next: &cursor, in: bytes) } catch {
                throw ReceiptDecodingError(error, at: "attributes")
            }
            if attribute.type == 17 {
                try append(attribute, before: cursor.end - cursor.position, in: bytes, of: shared, base: base)
            } else {
                do throws(BERError) {
                    if try !read(attribute, in: bytes, of: shared, base: base) { unknownCount += 1 }
                } catch {
                    throw ReceiptDecodingError(error, at: "attribute \(attribute.type)")
                }
                guard unknownCount <= Self.maximumUnknownAttributes else {
                    throw ReceiptDecodingError(
                        .tooMany, at: "attributes", "more than \(Self.maximumUnknownAttributes) unknown attributes")
                }
            }
        }
    }

    /// Appends the purchase of an attribute 17. The rest is the size of the attributes after it.
    private mutating func append(
        _ attribute: ReceiptAttribute, before rest: Int, in bytes: borrowing Span<UInt8>, of shared: Redacted<[UInt8]>,
        base: Int
    ) throws(ReceiptDecodingError) {
        guard purchases.count < Self.maximumPurchases else {
            throw ReceiptDecodingError(.tooMany, at: "attribute 17", "more than \(Self.maximumPurchases) purchases")
        }
        if purchases.isEmpty {
            // Purchases have similar sizes, and nearly all attributes of a large receipt are purchases.
            let size = attribute.value.end - attribute.value.start
            purchases.reserveCapacity(min(rest / size + 1, Self.maximumPurchases))
        }
        purchases.append(InAppPurchase(of: shared))
        try purchases[purchases.count - 1].read(attribute, index: purchases.count - 1, in: bytes, base: base)
    }

    /// Reads one attribute of the receipt. Returns `false` if it is unknown and has a value.
    private mutating func read(
        _ attribute: ReceiptAttribute, in bytes: borrowing Span<UInt8>, of shared: Redacted<[UInt8]>, base: Int
    ) throws(BERError) -> Bool {
        switch attribute.type {
        case 0: receiptType = try attribute.text(in: bytes)
        case 1: appAppleId = try attribute.number(in: bytes)
        case 2: bundleId = try attribute.text(in: bytes)
        case 3: applicationVersion = try attribute.text(in: bytes)
        case 4: opaqueBytes = attribute.raw(of: shared, base: base)
        case 5: sha1Bytes = attribute.raw(of: shared, base: base)
        case 8: deviceReceiptDate = try attribute.date(in: bytes)
        case 10: ageRating = try attribute.text(in: bytes)
        case 12: receiptCreationDate = try attribute.date(in: bytes)
        case 13: clientSystemVersion = try attribute.number(in: bytes)
        case 15: downloadId = try attribute.number(in: bytes)
        case 16: versionExternalIdentifier = try attribute.number(in: bytes)
        case 18: originalPurchaseDate = try attribute.date(in: bytes)
        case 19: originalApplicationVersion = try attribute.text(in: bytes)
        case 21: expirationDate = try attribute.date(in: bytes)
        case 25: platform = try attribute.number(in: bytes)
        default: return attribute.isEmptyText(in: bytes)
        }
        return true
    }
}
