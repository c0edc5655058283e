import ReceiptBridgeBase

/// A table file that was parsed as JSON and whose structure was checked: it contains only known keys, and all values
/// are text.
struct FieldTableDocument {
    struct Entry {
        let file: String
        /// The position in the file, for example `rows[3]`, counted from 1.
        let place: String
        let texts: [String: String]

        func has(_ key: String) -> Bool { texts[key] != nil }

        /// Returns a text that must exist and must not be empty.
        func text(_ key: String) throws(FieldTableError) -> String {
            guard let text = texts[key], !text.isEmpty else { throw error(.missingKey, "missing key \(key)") }
            return text
        }

        /// A key of a response or of a property list. Its characters are restricted, so that it needs no escaping.
        func wire(_ key: String) throws(FieldTableError) -> String {
            let text = try text(key)
            let isPlain = text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x5F || byte == 0x2D
            }
            guard isPlain else { throw error(.badWire, "\(key) may only contain a-z, 0-9, _ and -") }
            return text
        }

        func error(_ code: FieldTableError.Code, _ reason: String) -> FieldTableError {
            let name = texts["wire"] ?? texts["model"]
            return FieldTableError(
                code: code, file: file, row: place + (name.map { " \"\($0)\"" } ?? ""), reason: reason)
        }
    }

    let file: String
    let header: Entry
    let rows: [Entry]
    let omitted: [Entry]

    init(json: [UInt8], file: String, hasPropertyListKeys: Bool) throws(FieldTableError) {
        let header = Entry(file: file, place: "header", texts: [:])
        guard let document = DocumentObject(table: json) else { throw header.error(.malformed, "not a JSON object") }
        for key in document.members.map(\.name).sorted() where !["model", "place", "rows", "omitted"].contains(key) {
            throw header.error(.unknownKey, "unknown key \(key)")
        }
        self.file = file
        self.header = Entry(file: file, place: "header", texts: document.strings)
        rows = try Self.entries(
            "rows", of: document, keys: [hasPropertyListKeys ? "plist" : "also", "wire", "model", "as"], header)
        omitted = try Self.entries("omitted", of: document, keys: ["model", "because"], header)
    }

    /// Throws an error unless the header is the one of this file.
    func expectHeader(model: String, place: String) throws(FieldTableError) {
        for (key, expected) in [("model", model), ("place", place)] {
            let found = try header.text(key)
            guard found == expected else { throw error(.wrongHeader, "\(key) is \(found), must be \(expected)") }
        }
    }

    func error(_ code: FieldTableError.Code, _ reason: String) -> FieldTableError {
        FieldTableError(code: code, file: file, row: "header", reason: reason)
    }

    /// Parses an array of objects whose members are all text and have known keys.
    private static func entries(
        _ name: String, of document: DocumentObject, keys: Set<String>, _ header: Entry
    ) throws(FieldTableError) -> [Entry] {
        guard let member = document[name] else { throw header.error(.missingKey, "missing key \(name)") }
        guard let elements = member.elements else { throw header.error(.malformed, "\(name) is not an array") }
        var entries: [Entry] = []
        for (index, element) in elements.enumerated() {
            let place = "\(name)[\(index + 1)]"
            guard let object = element?.object else {
                throw FieldTableError(code: .malformed, file: header.file, row: place, reason: "not a JSON object")
            }
            let entry = Entry(file: header.file, place: place, texts: object.strings)
            for key in object.members.map(\.name).sorted() {
                guard keys.contains(key) else { throw entry.error(.unknownKey, "unknown key \(key)") }
                guard entry.has(key) else { throw entry.error(.malformed, "\(key) is not a JSON string") }
            }
            entries.append(entry)
        }
        return entries
    }
}

extension DocumentObject {
    private static let maximumValues = 1 << 20

    /// Reads a table file; `nil` if it is not a JSON object.
    init?(table json: [UInt8]) {
        guard let outline = try? JSONOutline(json.withoutByteOrderMark, maximumNodes: Self.maximumValues) else {
            return nil
        }
        self.init(outline: outline, index: 0)
    }

    fileprivate var strings: [String: String] {
        Dictionary(members.compactMap { member in string(member.name).map { (member.name, $0) } }) { _, last in last }
    }
}
