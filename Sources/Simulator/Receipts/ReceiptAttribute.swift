package import Base

/// A receipt attribute: `ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`.
///
/// The same structure is used at both levels, for attributes of the app (types 0 to 25) and of a purchase (types 1701
/// to 1722).
package struct ReceiptAttribute: Sendable, Hashable {
    package var type: Int64
    package var version: Int64
    /// Content of the OCTET STRING: usually a DER value, sometimes raw bytes.
    package var value: [UInt8]

    package init(_ type: Int64, version: Int64 = 1, raw value: [UInt8]) {
        self.type = type
        self.version = version
        self.value = value
    }

    package static func text(_ type: Int64, _ text: String) -> ReceiptAttribute {
        ReceiptAttribute(type, raw: DEREncoder.utf8String(text))
    }

    package static func number(_ type: Int64, _ number: Int64) -> ReceiptAttribute {
        ReceiptAttribute(type, raw: DEREncoder.integer(number))
    }

    /// An attribute with a date in UTC in whole seconds, or with an empty text if `instant` is `nil`.
    package static func date(_ type: Int64, _ instant: Timestamp?) -> ReceiptAttribute {
        ReceiptAttribute(type, raw: DEREncoder.ia5String(instant?.rfc3339 ?? ""))
    }

    package var der: [UInt8] {
        DEREncoder.sequence(
            DEREncoder.integer(type), DEREncoder.integer(version), DEREncoder.octetString(value))
    }
}
