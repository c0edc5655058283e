package import ReceiptBridgeBase
package import ReceiptBridgeReceipts

/// The properties of one model that a response can contain. A table is validated against them.
///
/// The raw value is the name of the property in the `model` column of the tables and in camelCase output. The
/// compiler ensures that every case has a value, and the loader that every case occurs in the table.
package protocol ModelField: RawRepresentable<String>, CaseIterable, Sendable, Hashable {
    /// The `model` in the header of the table.
    static var modelName: String { get }
    /// The `place` in the header of the table.
    static var place: String { get }
    /// Whether the rows of the table have a column `plist` with the key in a property list.
    static var hasPropertyListKeys: Bool { get }
    /// The properties that are newer than the first version of the table. A table that does not mention them omits
    /// them, so that a directory of tables from an earlier version remains valid.
    static var addedLater: Set<Self> { get }
    var kind: ValueKind { get }
}

extension ModelField {
    /// Most tables do not have the column `plist`.
    package static var hasPropertyListKeys: Bool { false }
    package static var addedLater: Set<Self> { [] }
}

/// The value of one field, from which both formats can be written: snake_case with verifyReceipt's types, or
/// camelCase. An absent value is `nil` and has a kind nevertheless.
package enum FieldValue: Sendable, Hashable {
    case text(String?)
    case number(Int64?)
    /// A number that is an identifier. In camelCase it is written as text, as in Apple's own payloads.
    case identifier(Int64?)
    /// 0 is false, any other number is true.
    case flag(Int64?)
    case instant(Timestamp?)
    /// The date of a refund or revocation, and whether the product is a consumable.
    case cancellation(Timestamp?, isConsumable: Bool)
    /// 0 is `PURCHASED`, 1 is `FAMILY_SHARED`.
    case ownership(Int64?)
    case productType(ReceiptProductType?)
    case bytes([UInt8]?)
    case attributes([UnknownAttribute]?)

    var kind: ValueKind {
        switch self {
        case .text: .text
        case .number: .number
        case .identifier: .identifier
        case .flag: .flag
        case .instant: .instant
        case .cancellation: .cancellation
        case .ownership: .ownership
        case .productType: .productType
        case .bytes: .bytes
        case .attributes: .attributes
        }
    }

    /// The value; `nil` if it is absent.
    var present: FieldValue? {
        switch self {
        case .text(nil), .number(nil), .identifier(nil), .flag(nil), .instant(nil), .cancellation(nil, isConsumable: _),
            .ownership(nil), .productType(nil), .bytes(nil), .attributes(nil):
            nil
        default: self
        }
    }
}

/// The kind of value that a field has if it is present. The conversions of a table are checked against it.
package enum ValueKind: String, Sendable, Hashable {
    case text, number, identifier, flag, instant, cancellation, ownership, productType, bytes, attributes
    /// A text of `purchase-info` that is a decimal number.
    case numberText
    /// A text of `purchase-info` that is an instant in milliseconds.
    case millisecondsText
    /// A text of `purchase-info` that is `true` or `false`.
    case flagText
    case nested
}
