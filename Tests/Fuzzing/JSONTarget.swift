import ReceiptBridgeBase
import Foundation

/// Fuzzes both JSON parsers. They must agree with Foundation about what is a JSON object, except where RFC 8259
/// leaves it open.
enum JSONTarget {
    static func run(_ bytes: [UInt8]) {
        let isObject = (try? JSONObject(bytes)) != nil
        let hasOutline = (try? JSONOutline(bytes, maximumNodes: 1 << 20)) != nil
        require(isObject == hasOutline, "the scanner and the outline accept the same documents")
        // Foundation also accepts UTF-16 and UTF-32, which it recognizes by zero bytes, and ignores a byte order
        // mark.
        guard !bytes.contains(0), !bytes.starts(with: [0xEF, 0xBB, 0xBF]),
            String(validating: bytes, as: UTF8.self) != nil, !hasTrailingComma(bytes)
        else { return }
        let theirs = (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any]
        if theirs != nil {
            require(
                isObject || depth(of: bytes) > JSONScanner.maximumDepth,
                "Foundation does not accept more than the scanner")
        } else if isObject {
            // Foundation rejects numbers that are too large for a `Double`, and unpaired surrogates.
            require(
                bytes.contains { "eE".utf8.contains($0) } || bytes.count > 308 || bytes.contains(0x5C),
                "the scanner does not accept more than Foundation")
        }
    }

    /// Returns whether there is a comma after the last member or element, which Foundation ignores.
    private static func hasTrailingComma(_ bytes: [UInt8]) -> Bool {
        let dense = bytes.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return zip(dense, dense.dropFirst()).contains { $0 == 0x2C && ($1 == 0x7D || $1 == 0x5D) }
    }

    /// Returns an upper bound of the nesting depth: the number of opening brackets, including those in strings.
    private static func depth(of bytes: [UInt8]) -> Int {
        bytes.count { $0 == 0x5B || $0 == 0x7B }
    }
}
