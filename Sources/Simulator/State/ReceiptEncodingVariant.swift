import ReceiptBridgeBase

/// The forms that base64 receipts take when clients, web forms or databases change them.
package enum ReceiptEncodingVariant {
    package static func lines(_ text: String, width: Int, separator: String) -> String {
        let bytes = Array(text.utf8)
        return stride(from: 0, to: bytes.count, by: width).map { begin in
            String(decoding: bytes[begin..<min(begin + width, bytes.count)], as: UTF8.self)
        }.joined(separator: separator)
    }

    /// Escapes `+`, `/` and `=` as web forms do.
    package static func percentEncoded(_ text: String) -> String {
        text.replacing("+", with: "%2B").replacing("/", with: "%2F").replacing("=", with: "%3D")
    }

    package static func hexadecimal(_ bytes: [UInt8]) -> String { Hexadecimal.text(of: bytes) }

    /// The form `<30821234 56789abc …>`, which `NSData.description` returned until iOS 12.
    package static func dataDescription(_ bytes: [UInt8]) -> String {
        "<\(lines(hexadecimal(bytes), width: 8, separator: " "))>"
    }

    /// The form `{length = 5432, bytes = 0x30821534 … 6f70}`, which `NSData.description` returns since iOS 13. The
    /// bytes in the middle are lost.
    package static func shortDataDescription(_ bytes: [UInt8]) -> String {
        let ends = (bytes.prefix(16), bytes.suffix(8))
        return "{length = \(bytes.count), bytes = 0x\(lines(hexadecimal(Array(ends.0)), width: 8, separator: " "))"
            + " ... \(lines(hexadecimal(Array(ends.1)), width: 8, separator: " ")) }"
    }

    package static func armoured(_ text: String) -> String {
        "-----BEGIN PKCS7-----\n\(lines(text, width: 64, separator: "\n"))\n-----END PKCS7-----\n"
    }

    /// The JSON document in which Unity's purchasing plugin stores a receipt.
    package static func unityWrapper(_ text: String, transactionId: String) -> String {
        let wrapper = JSONValue(["Store": "AppleAppStore", "TransactionID": transactionId, "Payload": text])
        return String(decoding: wrapper.bytes, as: UTF8.self)
    }
}

extension SimulatedStore {
    /// Returns the receipt in other encodings. The strict endpoint rejects them, but they can be repaired.
    func recodings(of receipt: IssuedReceipt) -> [HostileReceipt] {
        let text = receipt.base64
        let recoded: [(String, String)] = [
            ("lineBreaks64", ReceiptEncodingVariant.lines(text, width: 64, separator: "\n")),
            ("lineBreaks76", ReceiptEncodingVariant.lines(text, width: 76, separator: "\r\n")),
            ("spaceForPlus", text.replacing("+", with: " ")),
            ("percentEncoded", ReceiptEncodingVariant.percentEncoded(text)),
            ("doublyPercentEncoded", ReceiptEncodingVariant.percentEncoded(text).replacing("%", with: "%25")),
            ("pemArmour", ReceiptEncodingVariant.armoured(text)),
            ("urlSafeAlphabet", text.replacing("+", with: "-").replacing("/", with: "_")),
            ("doubleBase64", Base64.encode(Array(text.utf8))),
            ("hexadecimal", ReceiptEncodingVariant.hexadecimal(receipt.bytes)),
            ("prefixedHexadecimal", "0x" + ReceiptEncodingVariant.hexadecimal(receipt.bytes)),
            ("postgresqlBytea", "\\x" + ReceiptEncodingVariant.hexadecimal(receipt.bytes)),
            ("dataDescription", ReceiptEncodingVariant.dataDescription(receipt.bytes)),
            (
                "unityWrapper",
                ReceiptEncodingVariant.unityWrapper(text, transactionId: receipt.plan.transactionIds.last ?? "")
            ),
            ("trailingBytes", Base64.encode(receipt.bytes + [0, 1, 2, 3])),
        ]
        return recoded.map { HostileReceipt($0.0, $0.1, of: receipt, .decoded, 21002) }
    }

    /// Returns texts that are not receipts but occur where receipts are expected.
    func nonReceipts(insteadOf receipt: IssuedReceipt) throws -> [HostileReceipt] {
        guard let transaction = receipt.transactions.first else { return [] }
        let row = transaction.row(receipt.environment, signedDate: world.epoch)
        let short = ReceiptEncodingVariant.shortDataDescription(receipt.bytes)
        let truncated = Base64.encode(Array(receipt.bytes.dropLast(receipt.bytes.count / 3)))
        return [
            HostileReceipt("signedTransaction", try pki.jwsSigner.jws(payload: row), of: receipt, .decoded, 21002),
            HostileReceipt("truncated", truncated, of: receipt, .refused, 21002),
            HostileReceipt("shortDataDescription", short, of: receipt, .refused, 21002),
            HostileReceipt("notBase64", "not a receipt", of: receipt, .refused, 21002),
        ]
    }
}
