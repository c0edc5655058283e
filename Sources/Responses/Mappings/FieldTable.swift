import ReceiptBridgeBase

/// One table of `Mappings/`: the properties of a model that a response contains, with their keys and their order.
///
/// A value of this type is always valid; see ``init(json:file:)``.
package struct FieldTable<Field: ModelField>: Sendable {
    package struct Row: Sendable {
        /// The key in the response; for a date, the common part of its three keys.
        package let wire: String
        /// A second key with the same value, written directly after the first.
        package let also: String?
        /// The key in a property list, if the table has that column.
        package let propertyListKey: String?
        package let field: Field
        package let conversion: Conversion
        /// The keys from which the property is read, the most exact one first.
        let keys: [String]
    }

    /// A property that the response does not contain, and the reason.
    package struct Omission: Sendable {
        package let field: Field
        package let because: String
    }

    /// One key of the response, prepared for writing.
    ///
    /// This is a class for performance, because the loops over purchases visit the columns thousands of times:
    /// copying a reference changes one reference count, copying a struct one for each of its arrays.
    final class Column: Sendable {
        let field: Field
        let conversion: Conversion
        let key: ColumnKey

        init(field: Field, conversion: Conversion, wire: String) {
            self.field = field
            self.conversion = conversion
            key = ColumnKey(wire: wire, conversion: conversion)
        }
    }

    /// The rows in the order of the response.
    package let rows: [Row]
    /// The omitted properties in the order of the file.
    package let omitted: [Omission]
    /// The columns with their encoded keys: one for each row, and one more for its second key if it has one.
    let columns: [Column]
    /// The same columns, for loops over rows.
    let layout: RowLayout<Field>
    /// Every property with its encoded camelCase key, mapped properties first.
    let camelCase: [(field: Field, key: JSONKey)]

    init(rows: [Row], omitted: [Omission]) {
        self.rows = rows
        self.omitted = omitted
        columns = rows.flatMap { row in
            [row.wire, row.also].compactMap(\.self).map { wire in
                Column(field: row.field, conversion: row.conversion, wire: wire)
            }
        }
        layout = RowLayout(columns)
        camelCase = (rows.map(\.field) + omitted.map(\.field)).map { ($0, JSONKey($0.rawValue)) }
    }
}

/// The ways of writing a value into a response. They are the values of the `as` column of the tables.
///
/// Apple uses different JSON types in different places: the ids of apps are numbers, and everything in a purchase is
/// text. An absent value gives no key, unless the conversion says otherwise.
package enum Conversion: String, Sendable, CaseIterable {
    case text
    /// A JSON number with exactly 64 bits.
    case number
    /// A JSON number; `null` if the value is absent, as Apple sometimes writes for `download_id`.
    case numberOrNull
    /// A JSON number; 0 if the value is absent, which is also what Apple writes in the sandbox.
    case numberOrZero
    /// A JSON string of decimal digits.
    case numberAsText
    /// A JSON string of decimal digits; 0 means that there is no value and gives no key.
    case nonZeroNumberAsText
    case flag
    /// `"true"` or `"false"`.
    case flagAsText
    /// `"1"` or `"0"`.
    case flagAsDigit
    /// `"PURCHASED"` or `"FAMILY_SHARED"`; a number without a name gives no key.
    case ownershipAsText
    /// Three JSON strings; see ``DateTriplet``.
    case dateTriplet
    /// Three JSON strings under the keys of iOS 6: the plain key contains the milliseconds, `_formatted` and
    /// `_formatted_pst` contain the texts.
    case expiryTriplet
    /// Three JSON strings as for ``dateTriplet``; nothing for a consumable, because Apple's responses never show its
    /// refund.
    case cancellationTriplet
    /// An object, or an array of objects, with a table of its own.
    case nested

    package func fits(_ kind: ValueKind) -> Bool {
        switch self {
        case .text: [.text, .numberText, .millisecondsText, .flagText].contains(kind)
        case .number, .numberOrNull, .numberOrZero: kind == .number
        case .numberAsText: kind == .number || kind == .identifier
        case .nonZeroNumberAsText: kind == .identifier
        case .flag, .flagAsText, .flagAsDigit: kind == .flag
        case .ownershipAsText: kind == .ownership
        case .dateTriplet, .expiryTriplet: kind == .instant
        case .cancellationTriplet: kind == .cancellation
        case .nested: kind == .nested
        }
    }
}
