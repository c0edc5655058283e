extension JSONLogHandler {
    /// Returns the JSON with every character escaped as `\uXXXX` that a terminal acts on, or that hides or reorders
    /// text: Unicode's control (Cc) and format (Cf) characters, line and paragraph separators. A JSON parser reads
    /// the same values as before. For example, U+202E (right-to-left override) becomes `\u202e`.
    ///
    /// - Parameter json: One line of JSON. Controls below U+0020 are already escaped in it.
    static func escapingControls(_ json: [UInt8]) -> [UInt8] {
        // Such characters occur only inside strings, because the rest of a JSON text is ASCII punctuation, digits and
        // letters.
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

    /// Appends `\u` and four hexadecimal digits.
    private static func append(_ unit: UInt16, to escaped: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        escaped += Array("\\u".utf8)
        for shift in [12, 8, 4, 0] { escaped.append(digits[Int(unit >> UInt16(shift)) & 15]) }
    }
}
