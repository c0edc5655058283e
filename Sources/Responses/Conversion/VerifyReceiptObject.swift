import Base

/// One object of a verifyReceipt response, converted by the field tables. Values are read leniently; see
/// ``VerifyReceiptResponse/Value``.
struct VerifyReceiptObject {
    /// The object in the document.
    let object: VerifyReceiptResponse.Object
    /// The path of the object in the document, for error messages.
    let path: String

    /// Returns a member; `nil` if it is absent or `null`.
    subscript(key: String) -> VerifyReceiptResponse.Value? { object[key] }

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
        _ node: VerifyReceiptResponse.Value, _ row: FieldTable<Field>.Row, _ wire: String
    ) throws(ConversionError) -> JSONTree? {
        switch row.field.kind {
        case .text, .ownership, .productType:
            return .text(try require(text(of: node), wire, "a string"))
        case .identifier:
            let text = try require(text(of: node), wire, "a string")
            return row.conversion == .nonZeroNumberAsText && (text == "0" || text.isEmpty) ? nil : .text(text)
        case .number:
            guard node.text != "" else { return nil }
            let number = try require(number(in: node), wire, "a whole number of 64 bits")
            return row.conversion == .numberOrZero && number == 0 ? nil : .integer(number)
        case .flag:
            guard node.text != "" else { return nil }
            return .flag(try require(node.flag, wire, "true or false"))
        case .numberText, .millisecondsText:
            let text = JSONTree.text(try require(text(of: node), wire, "a string"))
            return number(in: node).map(JSONTree.integer) ?? text
        case .flagText:
            let text = JSONTree.text(try require(text(of: node), wire, "a string"))
            return node.flag.map(JSONTree.flag) ?? text
        case .instant, .cancellation, .nested, .bytes, .attributes:
            return nil
        }
    }

    /// Returns milliseconds since 1970: from `X_ms` if it exists; otherwise from `X`, which contains milliseconds in
    /// iOS 6 responses; otherwise from the date text in `X` or `X_formatted`.
    private func instant(_ wire: String) throws(ConversionError) -> JSONTree? {
        var exists = false
        for key in [wire + "_ms", wire, wire + "_formatted"] {
            guard let node = self[key], node.text != "" else { continue }
            exists = true
            if let milliseconds = node.milliseconds ?? number(in: node) { return .integer(milliseconds) }
            if let instant = node.text.flatMap(Timestamp.init(greenwichText:)) { return .integer(instant.milliseconds) }
        }
        guard exists else { return nil }
        throw error(wire, "a date")
    }

    /// Returns a text; a whole number as decimal digits, any other number as written.
    private func text(of node: VerifyReceiptResponse.Value) -> String? {
        node.string == nil ? node.integer.map { String($0) } ?? node.text : node.text
    }

    /// Returns a whole number; `true` is 1 and `false` is 0.
    private func number(in node: VerifyReceiptResponse.Value) -> Int64? {
        if let number = node.integer { return number }
        return node.string == nil ? node.flag.map { $0 ? 1 : 0 } : nil
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
        guard let object = node.object else { throw error(key, "an object") }
        return VerifyReceiptObject(object: object, path: path.isEmpty ? key : "\(path).\(key)")
    }

    /// Returns a nested array of objects; `nil` if it is absent.
    func objects(_ key: String) throws(ConversionError) -> [VerifyReceiptObject]? {
        guard let node = self[key] else { return nil }
        guard let elements = node.elements else { throw error(key, "an array of objects") }
        var objects: [VerifyReceiptObject] = []
        for (index, element) in elements.enumerated() {
            guard let object = element?.object else { throw error("\(key)[\(index)]", "an object") }
            objects.append(
                VerifyReceiptObject(object: object, path: (path.isEmpty ? key : "\(path).\(key)") + "[\(index)]"))
        }
        return objects
    }
}
