/// One table of `Mappings/`: which properties of a model an answer holds, under which keys, in which order.
///
/// A value of this type has been checked completely; see ``init(json:file:)``.
package struct FieldTable<Field: ModelField>: Sendable {
    /// One row as written in the file.
    package struct Row: Sendable {
        /// The key in the answer; of a date the stem of its three keys.
        package let wire: String
        /// A second key, right after the first, with the same value.
        package let also: String?
        /// The key in a property list, where the table has that column.
        package let propertyListKey: String?
        /// The property whose value is written.
        package let field: Field
        /// How it is written; it fits the property.
        package let conversion: Conversion
    }

    /// A property that the answer does not hold, and why.
    package struct Omission: Sendable {
        /// The property left out.
        package let field: Field
        /// A sentence for people.
        package let because: String
    }

    /// A key as it goes into an answer.
    ///
    /// A class, because the loops over purchases visit columns thousands of times: one count to keep, not one an array.
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

    /// In the order of the answer.
    package let rows: [Row]
    /// What the answer does not hold, in the order of the file.
    package let omitted: [Omission]
    /// The rows, `also` spelled out, with their keys as bytes.
    let columns: [Column]
    /// Every property, mapped ones first, with its camelCase key as bytes.
    let camelCase: [(field: Field, key: JSONKey)]

    init(rows: [Row], omitted: [Omission]) {
        self.rows = rows
        self.omitted = omitted
        columns = rows.flatMap { row in
            [row.wire, row.also].compactMap(\.self).map { wire in
                Column(field: row.field, conversion: row.conversion, wire: wire)
            }
        }
        camelCase = (rows.map(\.field) + omitted.map(\.field)).map { ($0, JSONKey($0.rawValue)) }
    }
}
