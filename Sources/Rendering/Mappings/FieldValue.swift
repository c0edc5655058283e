package import ReceiptDecoding
package import StoreTypes

/// The value of one field, ready for either spelling: snake_case with Apple's old types, or camelCase.
package enum FieldValue: Sendable, Hashable {
    case text(String)
    case number(Int64)
    /// A number that names something: text in camelCase, as in Apple's own payloads.
    case identifier(Int64)
    /// 0 is false, anything else true.
    case flag(Int64)
    case instant(Timestamp)
    /// When the purchase was refunded or revoked, and whether it is a consumable.
    case cancellation(Timestamp, isConsumable: Bool)
    /// 0 `PURCHASED`, 1 `FAMILY_SHARED`.
    case ownership(Int64)
    case productType(ProductType)
    case bytes([UInt8])
    case attributes([UnknownAttribute])
}

/// What sort of value a field has, present or not; a table's conversions are checked against it.
package enum ValueKind: String, Sendable, Hashable {
    case text, number, identifier, flag, instant, cancellation, ownership, productType, bytes, attributes
    /// Text of a `purchase-info` that is a decimal number.
    case numberText
    /// Text of a `purchase-info` that is an instant in milliseconds.
    case millisecondsText
    /// Text of a `purchase-info` that is `true` or `false`.
    case flagText
    /// Objects with a table of their own.
    case nested
}
