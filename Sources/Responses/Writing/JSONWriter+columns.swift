import ReceiptBridgeBase
package import ReceiptBridgeReceipts

extension JSONWriter {
    /// Writes nothing if there is no value, except for the conversions that specify a default. Also writes nothing if
    /// the kind of the value does not fit the conversion; the validation of ``FieldTable`` rules that out.
    mutating func member<Field>(_ value: FieldValue?, as column: FieldTable<Field>.Column) {
        column.key.withPieces { member(value, as: column.conversion, key: $0) }
    }

    mutating func member(_ value: FieldValue?, as conversion: Conversion, key: ColumnKey.Pieces) {
        switch conversion {
        case .text:
            guard case .text(let text?)? = value else { return }
            member(key.beginning)
            characters(text)
            byte(0x22)
        case .number:
            guard case .number(let number?)? = value else { return }
            member(key.beginning)
            digits(number)
        case .numberOrNull:
            member(key.beginning)
            if case .number(let number?)? = value { digits(number) } else { ascii("null") }
        case .numberOrZero:
            member(key.beginning)
            if case .number(let number?)? = value { digits(number) } else { byte(0x30) }
        case .numberAsText:
            guard let number = value?.decimal else { return }
            member(key.beginning)
            digits(number)
            byte(0x22)
        case .nonZeroNumberAsText:
            guard let number = value?.decimal, number != 0 else { return }
            member(key.beginning)
            digits(number)
            byte(0x22)
        case .flag:
            guard case .flag(let flag?)? = value else { return }
            member(key.beginning)
            ascii(flag == 0 ? "false" : "true")
        case .flagAsText:
            guard case .flag(let flag?)? = value else { return }
            member(key.beginning)
            ascii(flag == 0 ? "false\"" : "true\"")
        case .flagAsDigit:
            guard case .flag(let flag?)? = value else { return }
            member(key.beginning)
            ascii(flag == 0 ? "0\"" : "1\"")
        case .ownershipAsText:
            guard case .ownership(let number?)? = value, let name = FieldValue.ownershipName(number) else { return }
            member(key.beginning)
            ascii(name)
            byte(0x22)
        case .dateTriplet:
            guard case .instant(let instant?)? = value else { return }
            triplet(instant, key: key)
        case .cancellationTriplet:
            guard case .cancellation(let instant?, isConsumable: false)? = value else { return }
            triplet(instant, key: key)
        case .expiryTriplet:
            guard case .instant(let instant?)? = value else { return }
            expiry(instant, key: key)
        case .nested:
            break
        }
    }
}

extension JSONWriter {
    /// Writes a member with a text in UTF-8. Writes nothing if the conversion is not one of texts.
    mutating func member(utf8 text: UnsafeBufferPointer<UInt8>, as conversion: Conversion, key: ColumnKey.Pieces) {
        guard conversion == .text else { return }
        member(key.beginning)
        characters(utf8: text)
        byte(0x22)
    }

    /// Writes a member whose text is base64, which needs no escaping. Writes nothing if the text is `nil`.
    mutating func member<Field>(base64 text: [UInt8]?, as column: FieldTable<Field>.Column) {
        column.key.withPieces { member(base64: text, as: column.conversion, key: $0) }
    }

    mutating func member(base64 text: [UInt8]?, as conversion: Conversion, key: ColumnKey.Pieces) {
        guard let text, conversion == .text else { return }
        member(key.beginning)
        raw(text)
        byte(0x22)
    }
}

extension FieldValue {
    fileprivate var decimal: Int64? {
        switch self {
        case .number(let number), .identifier(let number): number
        default: nil
        }
    }

    /// Returns Apple's name for a value of attribute 1722.
    static func ownershipName(_ number: Int64) -> StaticString? {
        switch number {
        case 0: "PURCHASED"
        case 1: "FAMILY_SHARED"
        default: nil
        }
    }
}

extension JSONWriter {
    /// Writes a value in the types of the App Store Server API; `null` if it is absent.
    mutating func camelCase(_ value: FieldValue) {
        switch value {
        case .text(let text?): self.value(text)
        case .number(let number?): self.value(number)
        case .identifier(let number?): self.value(String(number))
        case .flag(let number?): self.value(number != 0)
        case .instant(let instant?), .cancellation(let instant?, isConsumable: _): self.value(instant.milliseconds)
        case .ownership(let number?): self.value(FieldValue.ownershipName(number)?.description ?? String(number))
        case .productType(let type?): self.value(type.displayName ?? String(type.rawValue))
        case .bytes(let bytes?): self.value(utf8: Base64Text.encode(bytes))
        case .attributes(let attributes?): camelCase(attributes)
        default: null()
        }
    }

    /// Writes a text of `purchase-info` as a number or boolean if its kind says so, and as text if it does not have
    /// that form.
    mutating func camelCase(_ text: String, kind: ValueKind) { camelCase(FieldValue(text, as: kind) ?? .text(text)) }

    /// The attribute numbers are the keys. If a number occurs more than once, its value is an array of base64.
    private mutating func camelCase(_ attributes: [UnknownAttribute]) {
        let values = Dictionary(grouping: attributes, by: \.type)
        beginObject()
        for (type, attributes) in values.sorted(by: { $0.key < $1.key }) {
            key(String(type))
            if attributes.count > 1 { beginArray() }
            for attribute in attributes { value(utf8: Base64Text.encode(attribute.value)) }
            if attributes.count > 1 { endArray() }
        }
        endObject()
    }
}

extension ReceiptProductType {
    /// The name that the App Store Server API uses; `Free Subscription` no longer exists there.
    package var displayName: String? {
        switch self {
        case .nonConsumable: "Non-Consumable"
        case .consumable: "Consumable"
        case .nonRenewing: "Non-Renewing Subscription"
        case .autoRenewable: "Auto-Renewable Subscription"
        case .freeSubscription: "Free Subscription"
        default: nil
        }
    }
}
