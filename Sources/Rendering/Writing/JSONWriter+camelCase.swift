import Foundation
import ReceiptDecoding
import StoreTypes

extension JSONWriter {
    /// A value in the types of the App Store Server API.
    mutating func camelCase(_ value: FieldValue) {
        switch value {
        case .text(let text): self.value(text)
        case .number(let number): self.value(number)
        case .identifier(let number): self.value(String(number))
        case .flag(let number): self.value(number != 0)
        case .instant(let instant), .cancellation(let instant, isConsumable: _): self.value(instant.milliseconds)
        case .ownership(let number): self.value(FieldValue.ownershipName(number)?.description ?? String(number))
        case .productType(let type): self.value(type.displayName ?? String(type.rawValue))
        case .bytes(let bytes): self.value(Data(bytes).base64EncodedString())
        case .attributes(let attributes): camelCase(attributes)
        }
    }

    /// Text of a `purchase-info` as what it stands for; as text where it does not look like that.
    mutating func camelCase(_ text: String, kind: ValueKind) {
        switch kind {
        case .numberText, .millisecondsText:
            if let number = Int64(text) { value(number) } else { value(text) }
        case .flagText where text == "true" || text == "false":
            value(text == "true")
        default:
            value(text)
        }
    }

    /// An object: base64 by the attribute's number; an array of it where a number occurs more than once.
    private mutating func camelCase(_ attributes: [UnknownAttribute]) {
        let values = Dictionary(grouping: attributes, by: \.type)
        beginObject()
        for (type, attributes) in values.sorted(by: { $0.key < $1.key }) {
            key(String(type))
            if attributes.count > 1 { beginArray() }
            for attribute in attributes { value(Data(attribute.value).base64EncodedString()) }
            if attributes.count > 1 { endArray() }
        }
        endObject()
    }
}

extension ProductType {
    /// As the App Store Server API spells it, where `Free Subscription` does not exist any more.
    var displayName: String? {
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
