import ReceiptBridgeBase

/// Encodes a path of arbitrary bytes as text: bytes other than letters, digits and `/.-_` are percent-encoded. For
/// example, `a b` becomes `a%20b`.
enum PathText {
    static func text(of path: [UInt8]) -> String {
        var text: [UInt8] = []
        for byte in path {
            if isPlain(byte) {
                text.append(byte)
            } else {
                text.append(UInt8(ascii: "%"))
                Hexadecimal.append(byte, to: &text)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes a path; `nil` if ``text(of:)`` cannot have written the text.
    static func path(of text: String) -> [UInt8]? {
        var path: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                path.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                let low = rest.popFirst().flatMap(Hexadecimal.value)
            else { return nil }
            path.append(high << 4 | low)
        }
        return path.isEmpty ? nil : path
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
