/// A writer for the JSON object of a request body. Members are written in the order in which they are added; `nil`
/// values are omitted.
struct JSONBody {
    private(set) var bytes: [UInt8] = [UInt8(ascii: "{"), UInt8(ascii: "}")]

    mutating func add(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        begin(name)
        append(value)
        end()
    }

    mutating func add(_ name: StaticString, _ value: Bool?) {
        guard let value else { return }
        begin(name)
        bytes += (value ? "true" : "false").utf8
        end()
    }

    mutating func add(_ name: StaticString, _ values: [String]?) {
        guard let values else { return }
        begin(name)
        bytes.append(UInt8(ascii: "["))
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(value)
        }
        bytes.append(UInt8(ascii: "]"))
        end()
    }

    mutating func add(_ name: String, _ value: Int64?) {
        guard let value else { return }
        begin(name)
        bytes += String(value).utf8
        end()
    }

    private mutating func begin(_ name: StaticString) { begin(name.description) }

    /// Replaces the closing brace by the member's name. ``end()`` writes the brace again, so `bytes` is always
    /// complete.
    private mutating func begin(_ name: String) {
        bytes.removeLast()
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        append(name)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func end() {
        bytes.append(UInt8(ascii: "}"))
    }

    /// Writes a string. Only quotes, backslashes and control characters need escaping (RFC 8259, 7).
    private mutating func append(_ text: String) {
        let digits = Array("0123456789abcdef".utf8)
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case ..<0x20: bytes += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
