import Foundation
import StoreTypes

/// A request that a client sent as a form, or escaped like one, as the JSON that was meant. For the tolerant profile alone:
/// Apple's endpoint answers both with 21002.
///
///     %7B%22receipt-data%22%3A%22MII…%22%7D
///     receipt-data=MII…&password=…&exclude-old-transactions=true
enum FormBody {
    private static let keys: Set<String> = ["receipt-data", "password", "exclude-old-transactions"]

    /// Nil for what is neither.
    static func json(of body: [UInt8]) -> [UInt8]? {
        if body.starts(with: Array("%7B".utf8)) || body.starts(with: Array("%7b".utf8)) { return unescaped(body[...]) }
        let fields = body.split(separator: UInt8(ascii: "&"), maxSplits: keys.count + 1).compactMap(field)
        guard fields.contains(where: { $0.key == "receipt-data" }) else { return nil }
        var object: [String: JSONScalar] = [:]
        for (key, value) in fields where keys.contains(key) {
            object[key] = key == "exclude-old-transactions" ? .flag(value == "true" || value == "1") : .text(value)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(object)).map { [UInt8]($0) }
    }

    private enum JSONScalar: Encodable {
        case text(String)
        case flag(Bool)

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .flag(let flag): try container.encode(flag)
            }
        }
    }

    /// A plus sign is a blank in a form; where that came of base64 without escaping, the receipt is mended later.
    private static func field(_ bytes: ArraySlice<UInt8>) -> (key: String, value: String)? {
        guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        let plain = bytes[(equals + 1)...].map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
        guard let key = unescaped(bytes[..<equals]).flatMap({ String(bytes: $0, encoding: .utf8) }),
            let value = unescaped(plain[...]).flatMap({ String(bytes: $0, encoding: .utf8) })
        else { return nil }
        return (key, value)
    }

    /// Nil for a percent sign without two digits.
    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                plain.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            plain.append(high << 4 | low)
        }
        return plain
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
