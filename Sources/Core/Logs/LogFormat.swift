package import ReceiptBridgeBase
package import Logging

/// The form of a log line.
package enum LogFormat: Sendable {
    /// One JSON object. Numbers and booleans are those of `.stringConvertible`. Example:
    ///
    ///     {"host":"https://buy.itunes.apple.com","level":"error","message":"…","opened":3,"time":"2026-11-21T12:00:00Z"}
    case json
    /// One line for people: the time of day (UTC), the level, the message, then the metadata. Example:
    ///
    ///     12:00:00Z error    …  host=https://buy.itunes.apple.com opened=3
    ///
    /// The functions style the name of a level and the metadata.
    case text(level: @Sendable (String, Logger.Level) -> String, details: @Sendable (String) -> String)

    /// Returns a line with its line feed. Control characters and invisible characters are written as JSON escapes.
    package func line(
        _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata, at time: Timestamp
    ) -> [UInt8] {
        switch self {
        case .json:
            let head: Logger.Metadata = [
                "time": "\(time.iso8601)", "level": "\(level.rawValue)", "message": "\(message)",
            ]
            let members = head.merging(metadata, uniquingKeysWith: { $1 }).sorted { $0.key < $1.key }
            let line = JSONWriter.object { for (name, value) in members { $0.member(name, json: Self.json(value)) } }
            return Self.escapingControls(line) + [0x0A]
        case .text(let styledLevel, let details):
            let name = level.rawValue + String(repeating: " ", count: max(8 - level.rawValue.count, 0))
            let pairs = metadata.sorted { $0.key < $1.key }.map { key, value in
                let text = "\(value)"
                let isWord = !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "\"") }
                return Self.visible(key) + "=" + (isWord ? Self.visible(text) : "\"\(Self.visible(text))\"")
            }
            let end = pairs.isEmpty ? "" : "  " + details(pairs.joined(separator: " "))
            let clock = time.iso8601.drop { $0 != "T" }.dropFirst()
            return Array("\(clock) \(styledLevel(name, level)) \(Self.visible(message))\(end)\n".utf8)
        }
    }

    private static func json(_ value: Logger.MetadataValue) -> [UInt8] {
        switch value {
        case .stringConvertible(let number as any BinaryInteger): Array("\(number)".utf8)
        case .stringConvertible(let number as Double) where number.isFinite: Array("\(number)".utf8)
        case .stringConvertible(let flag as Bool): Array("\(flag)".utf8)
        default: string("\(value)")
        }
    }

    private static func string(_ text: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(text)
        return writer.finish()
    }

    /// Returns the text with JSON escapes, without quotes around it.
    private static func visible(_ text: String) -> String {
        String(decoding: escapingControls(string(text)).dropFirst().dropLast(), as: UTF8.self)
            .replacing(#"\""#, with: "\"")
    }
}

extension LogFormat {
    /// Returns the JSON with every character escaped as `\uXXXX` that a terminal acts on, or that hides or reorders
    /// text: Unicode's control (Cc) and format (Cf) characters, line and paragraph separators. A JSON parser reads
    /// the same values as before. For example, U+202E (right-to-left override) becomes `\u202e`.
    ///
    /// - Parameter json: JSON. Controls below U+0020 are already escaped in its strings; others are line breaks between
    ///   values, and stay.
    package static func escapingControls(_ json: [UInt8]) -> [UInt8] {
        // Such characters occur only inside strings, because the rest of a JSON text is ASCII punctuation, digits and
        // letters.
        guard json.contains(where: { $0 >= 0x7F }) else { return json }
        var escaped: [UInt8] = []
        escaped.reserveCapacity(json.count + 64)
        for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control where scalar.value < 0x20: escaped.append(UInt8(scalar.value))
            case .control, .format, .lineSeparator, .paragraphSeparator:
                for unit in String(scalar).utf16 { append(unit, to: &escaped) }
            default: escaped.append(contentsOf: UTF8.encode(scalar).map { Array($0) } ?? [])
            }
        }
        return escaped
    }

    private static func append(_ unit: UInt16, to escaped: inout [UInt8]) {
        escaped += Array("\\u".utf8)
        Hexadecimal.append(UInt8(unit >> 8), to: &escaped)
        Hexadecimal.append(UInt8(unit & 0xFF), to: &escaped)
    }
}
