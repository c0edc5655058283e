package import ReceiptBridgeBase

/// How a value is read, in Apple's documents and in those that other programs wrote again: numbers may be texts, and
/// texts may be numbers.
extension FieldValue {
    /// Reads a text as a property of a kind: as text, number, flag or instant. `nil` if it does not have that form.
    init?(_ text: String, as kind: ValueKind) {
        switch kind {
        case .text, .identifier, .ownership, .productType: self = .text(text)
        case .numberText, .millisecondsText: self = Int64(text).map(FieldValue.number) ?? .text(text)
        case .flagText: self = Self.flags[text] ?? .text(text)
        case .number:
            guard let number = Int64(text) else { return nil }
            self = .number(number)
        case .flag:
            guard let flag = Self.flags[text] else { return nil }
            self = flag
        case .instant, .cancellation:
            let instant = Int64(text).map(Timestamp.init(milliseconds:)) ?? Timestamp(responseText: text)
            guard let instant, Timestamp.range.contains(instant) else { return nil }
            self = .instant(instant)
        case .nested, .bytes, .attributes: return nil
        }
    }

    private static let flags: [String: FieldValue] = [
        "true": .flag(1), "1": .flag(1), "false": .flag(0), "0": .flag(0),
    ]

    /// Converts a value that was read to the kind of a column; `nil` if that is impossible.
    func converted(to kind: ValueKind) -> FieldValue? {
        switch (self, kind) {
        case (.text(let text?), .identifier): Int64(text).map(FieldValue.identifier)
        case (.text("PURCHASED"), .ownership): .ownership(0)
        case (.text("FAMILY_SHARED"), .ownership): .ownership(1)
        case (.text, .ownership): nil
        case (.number(let number?), .numberText), (.number(let number?), .millisecondsText): .text(String(number))
        case (.flag(let flag?), .flagText): .text(flag == 0 ? "false" : "true")
        case (.instant(let instant), .cancellation): .cancellation(instant, isConsumable: false)
        default: self
        }
    }
}

extension DocumentValue {
    /// Reads the value as a property of a kind; `nil` if it is an object or array, or does not have that form.
    func read(as kind: ValueKind) -> FieldValue? {
        guard let text else { return nil }
        guard string == nil, integer == nil else { return FieldValue(text, as: kind) }
        switch (kind, text) {
        case (.number, "true"), (.numberText, "true"): return .number(1)
        case (.number, "false"), (.numberText, "false"): return .number(0)
        // Xcode writes fractions of a millisecond.
        case (.instant, _), (.cancellation, _):
            let whole = Double(text).flatMap { Int64(exactly: $0.rounded(.down)) }
            return whole.flatMap { FieldValue(String($0), as: kind) }
        default: return FieldValue(text, as: kind)
        }
    }
}

/// What an object says about one property.
package enum DocumentReading: Sendable {
    case value(FieldValue)
    /// It has a value that is not of the property's kind.
    case unreadable(DocumentValue)

    package var value: FieldValue? { if case .value(let value) = self { value } else { nil } }
}

extension DocumentObject {
    /// Reads a property from the first of its keys with a readable value; `nil` if it has none, or consists of objects.
    /// An empty text is only a value where any text is one.
    package func read(_ keys: [String], as kind: ValueKind) -> DocumentReading? {
        guard ![.nested, .bytes, .attributes].contains(kind) else { return nil }
        var unreadable: DocumentValue?
        for key in keys {
            guard let value = self[key] else { continue }
            if let value = value.read(as: kind) { return .value(value) }
            if value.text != "" { unreadable = unreadable ?? value }
        }
        return unreadable.map(DocumentReading.unreadable)
    }

    /// Reads a date from the first of its keys that can be read; `nil` if there is none.
    package func instant(_ keys: [String]) -> Timestamp? {
        if case .instant(let instant)? = read(keys, as: .instant)?.value { instant } else { nil }
    }
}

/// The properties of an object, with their keys in verifyReceipt responses.
package struct DocumentKeys: Sendable {
    package struct Property: Sendable {
        package let name: String
        let kind: ValueKind
        fileprivate(set) var keys: [String] = []
    }

    private(set) var properties: [Property] = []
    /// The index of the property that has a key, spelled with `_`.
    private var owners: [String: Int] = [:]

    package init() {}

    /// The properties of some tables. If two have a key, the later one counts.
    package init<each Field>(_ tables: repeat FieldTable<each Field>) {
        for table in repeat each tables { add(table) }
    }

    /// Adds the properties of a table, whose keys replace those of the tables before.
    package mutating func add<Field>(
        _ table: FieldTable<Field>,
        name: (_ row: FieldTable<Field>.Row, _ key: String) -> String = { row, _ in row.field.rawValue }
    ) {
        for row in table.rows {
            for key in row.keys {
                if let owner = owners[key] { properties[owner].keys.removeAll { $0 == key } }
                var property = Property(name: name(row, key), kind: row.field.kind)
                let index = properties.firstIndex { $0.name == property.name } ?? properties.count
                if index == properties.count { properties.append(property) }
                property.keys = properties[index].keys + [key]
                properties[index] = property
                owners[key] = index
            }
        }
    }

    var all: Set<String> { Set(owners.keys) }

    /// Returns the index of the property with a key, whose words may be separated by `_` or `-`.
    func index(of key: String) -> Int? { owners[key] ?? owners[key.replacing("-", with: "_")] }
}

extension DocumentObject {
    /// Returns what the object says about properties, and its members that belong to none of them.
    package func read(
        _ keys: DocumentKeys
    ) -> (readings: [(name: String, reading: DocumentReading)], unknown: [(name: String, value: DocumentValue)]) {
        var unknown: [(name: String, value: DocumentValue)] = []
        var present: Set<Int> = []
        for (name, value) in members {
            if let index = keys.index(of: name) { present.insert(index) } else { unknown.append((name, value)) }
        }
        let readings = present.sorted().compactMap { index in
            let property = keys.properties[index]
            return read(property.keys, as: property.kind).map { (name: property.name, reading: $0) }
        }
        return (readings, unknown)
    }
}

extension ValueKind {
    /// Whether the value is a date for which responses use several keys.
    var isDate: Bool { self == .instant || self == .cancellation }

    /// The keys of a property in responses, the most exact one first. A date has `X_ms`, milliseconds since 1970; `X`,
    /// the text in GMT or in iOS 6 responses the milliseconds; `X_formatted`, the text in GMT; and the time of Los
    /// Angeles, which is read only if a program left out the others.
    package func keys(of wire: String) -> [String] {
        isDate ? ["_ms", "", "_formatted", "_pst", "_formatted_pst"].map { wire + $0 } : [wire]
    }
}
