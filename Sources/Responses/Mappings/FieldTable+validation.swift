extension FieldTable {
    /// - Throws: ``FieldTableError`` for the first error: an unknown or missing key, the header of another file, a
    ///   repeated key or property, an unknown conversion or property, a conversion that does not fit the property, or
    ///   a property that is neither mapped nor omitted. Of the latter, ``ModelField/addedLater`` count as omitted.
    package init(json: [UInt8], file: String) throws(FieldTableError) {
        let document = try FieldTableDocument(
            json: json, file: file, model: Field.modelName, place: Field.place, lists: ["rows", "omitted"])
        var rows: [Row] = []
        var fields: Set<Field> = []
        var wires: Set<String> = []
        var propertyListKeys: Set<String> = []
        let keys: Set = [Field.hasPropertyListKeys ? "plist" : "also", "wire", "model", "as"]
        for entry in try document.entries("rows", keys: keys) {
            let row = try Self.row(entry)
            for wire in [row.wire, row.also].compactMap(\.self) {
                for key in ColumnKey.names(wire: wire, conversion: row.conversion) {
                    guard wires.insert(key).inserted else {
                        throw entry.error(.duplicateWire, "the response already has the key \(key)")
                    }
                }
            }
            if let key = row.propertyListKey, !propertyListKeys.insert(key).inserted {
                throw entry.error(.duplicatePropertyListKey, "the plist key \(key) is already mapped")
            }
            try Self.claim(row.field, in: &fields, entry)
            rows.append(row)
        }
        var omitted: [Omission] = []
        for entry in try document.entries("omitted", keys: ["model", "because"]) {
            let field = try Self.field(entry)
            try Self.claim(field, in: &fields, entry)
            omitted.append(Omission(field: field, because: try entry.text("because")))
        }
        for field in Field.allCases where !fields.contains(field) {
            if Field.addedLater.contains(field) {
                omitted.append(Omission(field: field, because: "the table is older than the property"))
                continue
            }
            throw document.error(.unmappedModel, "\(Field.modelName).\(field.rawValue) is neither mapped nor omitted")
        }
        self.init(rows: rows, omitted: omitted)
    }

    /// Parses one row and checks that its conversion fits its property.
    private static func row(_ entry: FieldTableDocument.Entry) throws(FieldTableError) -> Row {
        let name = try entry.text("as")
        guard let conversion = Conversion(rawValue: name) else {
            let known = Conversion.allCases.map(\.rawValue).joined(separator: ", ")
            throw entry.error(.unknownConversion, "unknown conversion \(name); the conversions are \(known)")
        }
        let field = try field(entry)
        guard conversion.fits(field.kind) else {
            throw entry.error(.unfittingConversion, "\(name) does not fit \(field.rawValue), a \(field.kind.rawValue)")
        }
        let (wire, also) = (try entry.wire("wire"), entry.has("also") ? try entry.wire("also") : nil)
        return Row(
            wire: wire, also: also, propertyListKey: Field.hasPropertyListKeys ? try entry.wire("plist") : nil,
            field: field, conversion: conversion,
            keys: [wire, also].compactMap(\.self).flatMap { field.kind.keys(of: $0) })
    }

    private static func field(_ entry: FieldTableDocument.Entry) throws(FieldTableError) -> Field {
        let name = try entry.text("model")
        guard let field = Field(rawValue: name) else {
            throw entry.error(.unknownModel, "\(Field.modelName) has no property \(name)")
        }
        return field
    }

    /// Adds a property to those already mapped or omitted, and throws an error if it is repeated.
    private static func claim(
        _ field: Field, in fields: inout Set<Field>, _ entry: FieldTableDocument.Entry
    ) throws(FieldTableError) {
        guard fields.insert(field).inserted else {
            throw entry.error(.duplicateModel, "\(field.rawValue) is already in the table")
        }
    }
}

/// The reason why a field table is invalid: a code, the place in the file, and a sentence.
package struct FieldTableError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A stable error code.
    package enum Code: String, Sendable, Hashable {
        case unreadable
        /// The file is not JSON, or JSON of another structure.
        case malformed
        /// `model` or `place` in the header is not the value that this file must have.
        case wrongHeader
        case unknownKey, missingKey
        /// A key of the response contains other characters than a-z, 0-9, `_` and `-`.
        case badWire
        case duplicateWire, duplicateModel, duplicatePropertyListKey
        case unknownConversion, unknownModel
        /// The conversion is for values of another kind.
        case unfittingConversion
        /// A property is neither mapped nor omitted.
        case unmappedModel
    }

    package let code: Code
    package let file: String
    /// The row, for example `rows[3] "quantity"`, counted from 1, or `header`.
    package let row: String
    package let reason: String

    package var description: String { "\(file), \(row): \(reason)" }
}
