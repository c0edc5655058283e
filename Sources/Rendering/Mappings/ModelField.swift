/// The properties of one model that a response can contain. A table is validated against them.
///
/// The raw value is the name of the property in the `model` column of the tables and in camelCase output. The
/// compiler ensures that every case has an accessor, and the loader that every case occurs in the table.
package protocol ModelField: RawRepresentable<String>, CaseIterable, Sendable, Hashable {
    /// The `model` in the header of the table.
    static var modelName: String { get }
    /// The `place` in the header of the table.
    static var place: String { get }
    /// Whether the rows of the table have a column `plist` with the key in a property list.
    static var hasPropertyListKeys: Bool { get }
    /// The kind of value that the property has.
    var kind: ValueKind { get }
}

extension ModelField {
    /// Most tables do not have the column `plist`.
    package static var hasPropertyListKeys: Bool { false }
}
