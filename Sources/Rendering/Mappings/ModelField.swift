/// The properties of one model that an answer can hold: what a table is checked against.
///
/// A raw value is the property's name in the tables' `model` column and in camelCase output. The compiler sees to it
/// that every case has an accessor, the loader that every case stands in the table.
package protocol ModelField: RawRepresentable<String>, CaseIterable, Sendable, Hashable {
    /// The `model` in the header of the table.
    static var modelName: String { get }
    /// The `place` in the header of the table.
    static var place: String { get }
    /// Whether rows of the table name their key in a property list, in a column `plist`.
    static var hasPropertyListKeys: Bool { get }
    /// What sort of value the property has.
    var kind: ValueKind { get }
}

extension ModelField {
    /// Most tables have no such column.
    package static var hasPropertyListKeys: Bool { false }
}
