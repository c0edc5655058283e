import Foundation
import JSONReading

/// JSON: our two readers and Foundation's must agree on what is a JSON object, where all define it.
enum JSONTarget {
    static func run(_ bytes: [UInt8]) {
        let isObject = (try? JSONObject(bytes)) != nil
        let hasOutline = (try? JSONOutline(bytes, maximumNodes: 1 << 20)) != nil
        require(isObject == hasOutline, "the scanner and the outline take the same")
        // Foundation also takes UTF-16 and UTF-32, told by zero bytes, and leaves out a byte order mark.
        guard !bytes.contains(0), !bytes.starts(with: [0xEF, 0xBB, 0xBF]),
            String(validating: bytes, as: UTF8.self) != nil, !hasTrailingComma(bytes)
        else { return }
        let theirs = (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any]
        if theirs != nil {
            require(isObject || depth(of: bytes) > JSONScanner.maximumDepth, "Foundation takes it, we do not")
        } else if isObject {
            // They differ from us where a number is beyond a Double, or half a surrogate pair stands for nothing.
            require(
                bytes.contains { "eE".utf8.contains($0) } || bytes.count > 308 || bytes.contains(0x5C),
                "we take it, Foundation does not")
        }
    }

    /// A comma behind the last member or element, which Foundation passes over.
    private static func hasTrailingComma(_ bytes: [UInt8]) -> Bool {
        let dense = bytes.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return zip(dense, dense.dropFirst()).contains { $0 == 0x2C && ($1 == 0x7D || $1 == 0x5D) }
    }

    /// At least how deep it is nested, brackets in strings included.
    private static func depth(of bytes: [UInt8]) -> Int {
        bytes.count { $0 == 0x5B || $0 == 0x7B }
    }
}
