import AppStoreTypes
import JSON
package import Logging

/// A log handler that writes one JSON object per line to standard error: `time`, `level`, `message` and the metadata.
/// Example:
///
///     {"host":"https://buy.itunes.apple.com","level":"error","message":"…","state":"open","time":"2026-11-21T12:00:00Z"}
///
/// Receipts and secrets are values of types that print as `***`, so metadata cannot contain them. Other values may
/// hold any text of a request, so control characters and invisible characters are written as JSON escapes.
package struct JSONLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var logLevel = Logger.Level.notice
    package var metadataProvider: Logger.MetadataProvider?

    private let output: NonBlockingLogOutput

    /// - Parameters:
    ///   - metadataProvider: Metadata that is added to every line, for example the id of the current request.
    ///   - output: The destination of the lines.
    package init(metadataProvider: Logger.MetadataProvider? = nil, output: NonBlockingLogOutput = .standardError) {
        self.metadataProvider = metadataProvider
        self.output = output
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes the event. Metadata of the event overrides metadata of the provider, and this overrides metadata of the
    /// logger.
    package func log(event: LogEvent) {
        var members: [String: String] = [:]
        let surroundings = metadata.merging(metadataProvider?.get() ?? [:], uniquingKeysWith: { $1 })
        for (key, value) in surroundings.merging(event.metadata ?? [:], uniquingKeysWith: { $1 }) {
            members[key] = "\(value)"
        }
        output.write(Self.line(event.level, "\(event.message)", members)) { missing in
            Self.line(.warning, "log output was not read fast enough; log lines dropped", ["dropped": "\(missing)"])
        }
    }

    /// Returns one line of the log, with its line feed.
    private static func line(_ level: Logger.Level, _ message: String, _ metadata: [String: String]) -> [UInt8] {
        let head = ["time": Timestamp.now.iso8601, "level": level.rawValue, "message": message]
        let members = head.merging(metadata, uniquingKeysWith: { $1 }).sorted { $0.key < $1.key }
        let line = JSONWriter.object { for (name, text) in members { $0.member(name, text) } }
        return escapingControls(line) + [0x0A]
    }
}

extension JSONLogHandler {
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

    /// Appends `\u` and four hexadecimal digits.
    private static func append(_ unit: UInt16, to escaped: inout [UInt8]) {
        escaped += Array("\\u".utf8)
        Hexadecimal.append(UInt8(unit >> 8), to: &escaped)
        Hexadecimal.append(UInt8(unit & 0xFF), to: &escaped)
    }
}
