import AppStoreTypes

/// One object of a verifyReceipt response, read leniently: numbers may be texts and texts may be numbers, and the
/// words of a key may be separated by `_` or `-`.
struct VerifyReceiptObject {
    /// The members by key.
    let members: [String: JSONTree]
    /// The path of the object in the document, for error messages.
    let path: String

    /// Returns a member; `nil` if it is absent or `null`.
    subscript(key: String) -> JSONTree? {
        (members[key] ?? members[key.replacing("_", with: "-")])?.present
    }

    /// Returns the values of all rows of a table, in the order of the table and in the types of the App Store Server
    /// API.
    func camelCase<Field>(_ table: FieldTable<Field>) throws(ConversionError) -> ServerAPIObject {
        var object = ServerAPIObject()
        for row in table.rows { object[row.field.rawValue] = try value(row) }
        return object
    }

    /// Returns the value of one row; `nil` if it is absent.
    func value<Field>(_ row: FieldTable<Field>.Row) throws(ConversionError) -> JSONTree? {
        for wire in [row.wire, row.also].compactMap(\.self) {
            let value =
                switch row.field.kind {
                case .instant, .cancellation: try instant(wire)
                default: try self[wire].flatMap { node throws(ConversionError) in try scalar(node, row, wire) }
                }
            if let value { return value }
        }
        return nil
    }

    /// Converts a value that is not a date; `nil` if it stands for an absent value, for example an empty number.
    private func scalar<Field>(
        _ node: JSONTree, _ row: FieldTable<Field>.Row, _ wire: String
    ) throws(ConversionError) -> JSONTree? {
        switch row.field.kind {
        case .text, .ownership, .productType:
            return .text(try require(node.asText, wire, "a string"))
        case .identifier:
            let text = try require(node.asText, wire, "a string")
            return row.conversion == .nonZeroNumberAsText && (text == "0" || text.isEmpty) ? nil : .text(text)
        case .number:
            guard node != .text("") else { return nil }
            let number = try require(node.asInteger, wire, "a whole number of 64 bits")
            return row.conversion == .numberOrZero && number == 0 ? nil : .integer(number)
        case .flag:
            guard node != .text("") else { return nil }
            return .flag(try require(node.asFlag, wire, "true or false"))
        case .numberText, .millisecondsText:
            let text = JSONTree.text(try require(node.asText, wire, "a string"))
            return node.asInteger.map(JSONTree.integer) ?? text
        case .flagText:
            let text = JSONTree.text(try require(node.asText, wire, "a string"))
            return node.asFlag.map(JSONTree.flag) ?? text
        case .instant, .cancellation, .nested, .bytes, .attributes:
            return nil
        }
    }

    /// Returns milliseconds since 1970: from `X_ms` if it exists; otherwise from `X`, which contains milliseconds in
    /// iOS 6 responses; otherwise from the date text in `X` or `X_formatted`.
    private func instant(_ wire: String) throws(ConversionError) -> JSONTree? {
        var exists = false
        for key in [wire + "_ms", wire, wire + "_formatted"] {
            guard let node = self[key], node != .text("") else { continue }
            exists = true
            if let milliseconds = node.asMilliseconds { return .integer(milliseconds) }
            if let instant = node.asText.flatMap(DateText.instant) { return .integer(instant.milliseconds) }
        }
        guard exists else { return nil }
        throw error(wire, "a date")
    }

    /// Returns the value, or throws an error if it is `nil`.
    private func require<Value>(_ value: Value?, _ key: String, _ what: String) throws(ConversionError) -> Value {
        guard let value else { throw error(key, what) }
        return value
    }

    private func error(_ key: String, _ what: String) -> ConversionError {
        ConversionError(code: .badValue, place: path.isEmpty ? key : "\(path).\(key)", reason: "expected \(what)")
    }
}

extension VerifyReceiptObject {
    /// Returns a nested object; `nil` if it is absent.
    func object(_ key: String) throws(ConversionError) -> VerifyReceiptObject? {
        guard let node = self[key] else { return nil }
        guard let members = node.members else { throw error(key, "an object") }
        return VerifyReceiptObject(members: members, path: path.isEmpty ? key : "\(path).\(key)")
    }

    /// Returns a nested array of objects; `nil` if it is absent.
    func objects(_ key: String) throws(ConversionError) -> [VerifyReceiptObject]? {
        guard let node = self[key] else { return nil }
        guard let elements = node.elements else { throw error(key, "an array of objects") }
        var objects: [VerifyReceiptObject] = []
        for (index, element) in elements.enumerated() {
            guard let members = element.members else { throw error("\(key)[\(index)]", "an object") }
            objects.append(
                VerifyReceiptObject(members: members, path: (path.isEmpty ? key : "\(path).\(key)") + "[\(index)]"))
        }
        return objects
    }
}
