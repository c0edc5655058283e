import Base

/// Reads an object of a verifyReceipt response by the field tables. Values are read leniently; see ``JSONScalar``.
extension LocatedObject {
    /// Returns the values of all rows of a table, in the order of the table and in the types of the App Store Server
    /// API.
    func camelCase<Field>(_ table: FieldTable<Field>) throws(ConversionError) -> ServerAPIObject {
        var object = ServerAPIObject()
        for row in table.rows { object[row.field.rawValue] = try camelCase(row) }
        return object
    }

    /// Returns the value of one row; `nil` if it is absent.
    func camelCase<Field>(_ row: FieldTable<Field>.Row) throws(ConversionError) -> JSONScalar? {
        for wire in [row.wire, row.also].compactMap(\.self) {
            if let value = try row.field.kind.isDate ? instant(wire) : scalar(wire, row) { return value }
        }
        return nil
    }

    /// Returns a value that is not a date; `nil` if it stands for an absent value, for example an empty number.
    private func scalar<Field>(
        _ wire: String, _ row: FieldTable<Field>.Row
    ) throws(ConversionError) -> JSONScalar? {
        guard let value = self[wire] else { return nil }
        let scalar = value.scalar
        switch row.field.kind {
        case .text, .ownership, .productType:
            return .text(try require(scalar?.asText, wire, "a string"))
        case .identifier:
            let text = try require(scalar?.asText, wire, "a string")
            return row.conversion == .nonZeroNumberAsText && (text == "0" || text.isEmpty) ? nil : .text(text)
        case .number:
            guard scalar != .text("") else { return nil }
            let number = try require(scalar?.asInteger, wire, "a whole number of 64 bits")
            return row.conversion == .numberOrZero && number == 0 ? nil : .integer(number)
        case .flag:
            guard scalar != .text("") else { return nil }
            return .flag(try require(scalar?.asFlag, wire, "true or false"))
        case .numberText, .millisecondsText:
            let text = try require(scalar?.asText, wire, "a string")
            return scalar?.asInteger.map(JSONScalar.integer) ?? .text(text)
        case .flagText:
            let text = try require(scalar?.asText, wire, "a string")
            return scalar?.asFlag.map(JSONScalar.flag) ?? .text(text)
        case .instant, .cancellation, .nested, .bytes, .attributes:
            return nil
        }
    }

    /// Returns the milliseconds since 1970 of the first key of a date that can be read.
    private func instant(_ wire: String) throws(ConversionError) -> JSONScalar? {
        var exists = false
        for key in DateKey.allCases {
            guard let value = self[wire + key.rawValue], value.text != "" else { continue }
            exists = true
            if let milliseconds = value.scalar?.asMilliseconds { return .integer(milliseconds) }
            if let instant = value.text.flatMap(Timestamp.init(responseText:)) {
                return .integer(instant.milliseconds)
            }
        }
        guard exists else { return nil }
        throw error(wire, "a date")
    }

    /// Returns the value, or throws an error if it is `nil`.
    private func require<Value>(_ value: Value?, _ name: String, _ what: String) throws(ConversionError) -> Value {
        guard let value else { throw error(name, what) }
        return value
    }
}
