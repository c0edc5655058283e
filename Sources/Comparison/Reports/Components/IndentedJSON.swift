/// Breaks valid JSON into indented lines.
enum IndentedJSON {
    private static let maximumLines = 2_000

    /// For example, `{"a":[1]}` has the five lines `{`, `  "a": [`, `    1`, `  ]`, `}`.
    static func lines(of json: [UInt8]) -> [String] {
        var lines: [String] = []
        var line: [UInt8] = []
        var depth = 0
        var (isInString, isEscaped) = (false, false)
        func end() {
            lines.append(String(decoding: line, as: UTF8.self))
            line = Array(repeating: UInt8(ascii: " "), count: min(depth, 20) * 2)
        }
        for (index, byte) in json.enumerated() {
            guard lines.count < maximumLines else {
                lines.append("…")
                return lines
            }
            if isInString {
                line.append(byte)
                isInString = isEscaped || byte != UInt8(ascii: "\"")
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: "\""):
                isInString = true
                line.append(byte)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                line.append(byte)
                // An empty object or array stays on its line.
                guard json.dropFirst(index + 1).first(where: { $0 > 0x20 }) != byte + 2 else { continue }
                depth += 1
                end()
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if line.last != byte - 2 {
                    depth = max(depth - 1, 0)
                    end()
                }
                line.append(byte)
            case UInt8(ascii: ","):
                line.append(byte)
                end()
            case UInt8(ascii: ":"): line += [byte, UInt8(ascii: " ")]
            case ...0x20: break
            default: line.append(byte)
            }
        }
        if !line.isEmpty { lines.append(String(decoding: line, as: UTF8.self)) }
        return lines
    }
}
