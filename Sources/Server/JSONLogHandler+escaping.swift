extension JSONLogHandler {
    /// JSON with every character that terminals act on, or that hides or reorders text, written as `\uXXXX`: Unicode's control
    /// (Cc) and format (Cf) characters, line and paragraph separators. It says the same to a reader of JSON.
    ///
    /// - Parameter json: one line; controls below U+0020 are escaped in it already.
    static func escapingControls(_ json: [UInt8]) -> [UInt8] {
        // All of them are in the texts: between texts, JSON has no other characters than these.
        guard json.contains(where: { $0 >= 0x7F }) else { return json }
        var escaped: [UInt8] = []
        escaped.reserveCapacity(json.count + 64)
        for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                for unit in String(scalar).utf16 { append(unit, to: &escaped) }
            default: escaped.append(contentsOf: UTF8.encode(scalar).map { Array($0) } ?? [])
            }
        }
        return escaped
    }

    private static func append(_ unit: UInt16, to escaped: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        escaped += Array("\\u".utf8)
        for shift in [12, 8, 4, 0] { escaped.append(digits[Int(unit >> UInt16(shift)) & 15]) }
    }
}
