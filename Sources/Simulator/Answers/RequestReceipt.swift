/// Reads `receipt-data` as strictly as Apple's verifyReceipt does.
enum RequestReceipt {
    /// Returns bytes that look like a receipt; whether they are authentic is checked later. Returns `nil` for anything
    /// but plain padded base64, except that line breaks are allowed in transactionReceipts.
    static func read(_ text: String) -> [UInt8]? {
        if let bytes = Base64.decode(text) {
            return isAppReceipt(bytes) || TransactionReceiptOutline(bytes) != nil ? bytes : nil
        }
        let bytes = Base64.decode(text.filter { !$0.isNewline })
        return bytes.flatMap(TransactionReceiptOutline.init) == nil ? nil : bytes
    }

    /// Returns whether the bytes are one SEQUENCE of PKCS#7 SignedData, without anything after it.
    private static func isAppReceipt(_ bytes: [UInt8]) -> Bool {
        let signedData = DEREncoder.objectIdentifier(ObjectIdentifiers.signedData)
        guard bytes.count > 32, bytes[0] == 0x30, bytes[..<32].firstRange(of: signedData) != nil else { return false }
        if bytes[1] == 0x80 { return bytes.suffix(6) == [0, 0, 0, 0, 0, 0] }
        guard bytes[1] > 0x80, bytes[1] <= 0x84 else { return bytes.count == Int(bytes[1]) + 2 }
        let width = Int(bytes[1] & 0x7F)
        let length = bytes[2..<2 + width].reduce(0) { $0 << 8 | Int($1) }
        return bytes.count == length + 2 + width
    }
}

/// The two values of a transactionReceipt's property list that matter, found by their keys.
///
/// This is not a parser and shares no code with the decoders, because a mistake in one of them must not hide in the
/// other.
struct TransactionReceiptOutline {
    let signature: String
    let purchaseInfo: String

    init?(_ bytes: [UInt8]) {
        guard let first = bytes.first(where: { !Self.isSpace($0) }), first == UInt8(ascii: "{"),
            bytes.last(where: { !Self.isSpace($0) }) == UInt8(ascii: "}"),
            let signature = Self.value(of: "signature", in: bytes),
            let purchaseInfo = Self.value(of: "purchase-info", in: bytes)
        else { return nil }
        self.signature = signature
        self.purchaseInfo = purchaseInfo
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func value(of key: String, in bytes: [UInt8]) -> String? {
        guard let name = bytes.firstRange(of: Array("\"\(key)\"".utf8)) else { return nil }
        let rest = bytes[name.upperBound...].drop { isSpace($0) || $0 == UInt8(ascii: "=") }
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        let value = rest.dropFirst()
        guard let end = value.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
        return String(decoding: value[..<end], as: UTF8.self)
    }
}
