import ReceiptBridgeBase
package import ReceiptBridgeReceipts

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
