/// The result of reading `receipt-data` as strictly as Apple's verifyReceipt does.
enum RequestReceipt {
    /// Status 21002.
    case malformed
    /// Bytes that look like a receipt. Whether they are authentic is checked later.
    case receipt([UInt8])

    /// Accepts plain padded base64 only, except that line breaks are allowed in transactionReceipts.
    static func read(_ text: String) -> RequestReceipt {
        if let bytes = Base64.decode(text) {
            return isAppReceipt(bytes) || TransactionReceiptOutline(bytes) != nil ? .receipt(bytes) : .malformed
        }
        let joined = String(text.filter { !$0.isNewline })
        guard let bytes = Base64.decode(joined), TransactionReceiptOutline(bytes) != nil else { return .malformed }
        return .receipt(bytes)
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
