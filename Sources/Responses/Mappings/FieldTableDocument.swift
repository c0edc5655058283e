import ReceiptBridgeBase

/// A table file that was parsed as JSON: its header, and the lists of objects in it.
struct FieldTableDocument {
    struct Entry {
        let file: String
        /// The position in the file, for example `rows[3]`, counted from 1.
        let place: String
        let object: DocumentObject

        func has(_ key: String) -> Bool { object[key] != nil }

        func value<Value>(
            _ key: String, _ read: (DocumentValue) -> Value?, or fault: String = "has a value of another type"
        ) throws(FieldTableError) -> Value? {
            guard let member = object[key] else { return nil }
            guard let value = read(member) else { throw error(.malformed, "\(key) \(fault)") }
            return value
        }

        func required<Value>(
            _ key: String, _ read: (DocumentValue) -> Value?, or fault: String = "has a value of another type"
        ) throws(FieldTableError) -> Value {
            guard let found = try value(key, read, or: fault) else { throw error(.missingKey, "missing key \(key)") }
            return found
        }

        /// Returns a text that must exist and must not be empty.
        func text(_ key: String) throws(FieldTableError) -> String {
            let text = try required(key, \.plainText, or: "is not a JSON string")
            guard !text.isEmpty else { throw error(.missingKey, "missing key \(key)") }
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
            let type = object.string("type").flatMap { type in object.string("subtype").map { "\(type) \($0)" } }
            let name = object.string("wire") ?? object.string("model") ?? type
            return FieldTableError(
                code: code, file: file, row: place + (name.map { " \"\($0)\"" } ?? ""), reason: reason)
        }
    }

    private let file: String
    private let root: DocumentObject

    /// Checks the header, which is that of the model and place, and that there are only `lists` beside it.
    init(json: [UInt8], file: String, model: String, place: String, lists: [String]) throws(FieldTableError) {
        func error(_ code: FieldTableError.Code, _ reason: String) -> FieldTableError {
            FieldTableError(code: code, file: file, row: "header", reason: reason)
        }
        let outline = try? JSONOutline(json.withoutByteOrderMark, maximumNodes: Self.maximumValues)
        guard let outline else { throw error(.malformed, "not a JSON object") }
        (self.file, root) = (file, DocumentObject(outline: outline, index: 0))
        for key in root.members.map(\.name).sorted() where !(["model", "place"] + lists).contains(key) {
            throw error(.unknownKey, "unknown key \(key)")
        }
        let header = Entry(file: file, place: "header", object: root)
        for (key, expected) in [("model", model), ("place", place)] {
            let found = try header.text(key)
            guard found == expected else { throw error(.wrongHeader, "\(key) is \(found), must be \(expected)") }
        }
    }

    private static let maximumValues = 1 << 20

    /// Returns the objects of a list, whose keys are among `keys`.
    func entries(_ name: String, keys: Set<String>) throws(FieldTableError) -> [Entry] {
        guard let member = root[name] else { throw error(.missingKey, "missing key \(name)") }
        guard let elements = member.elements else { throw error(.malformed, "\(name) is not an array") }
        var entries: [Entry] = []
        for (index, element) in elements.enumerated() {
            let place = "\(name)[\(index + 1)]"
            guard let object = element?.object else { throw error(.malformed, "not a JSON object", at: place) }
            let entry = Entry(file: file, place: place, object: object)
            for key in object.members.map(\.name).sorted() where !keys.contains(key) {
                throw entry.error(.unknownKey, "unknown key \(key)")
            }
            entries.append(entry)
        }
        return entries
    }

    func error(_ code: FieldTableError.Code, _ reason: String, at place: String = "header") -> FieldTableError {
        FieldTableError(code: code, file: file, row: place, reason: reason)
    }
}

extension DocumentValue {
    /// The text of a string; `nil` for other types.
    var plainText: String? { string == nil ? nil : text }

    /// The texts of a list of strings.
    var plainTexts: [String]? {
        let texts = elements?.map { $0.flatMap(\.plainText) }
        return texts.flatMap { $0.contains(nil) ? nil : $0.compactMap(\.self) }
    }
}
