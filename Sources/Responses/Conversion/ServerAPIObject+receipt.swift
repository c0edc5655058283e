import Base
import ReceiptDecoding

/// Builds camelCase transactions from receipts. They contain only properties that a JWSTransaction has;
/// ``ServerAPIObject/normalizeTransaction(bundleId:environment:)`` then converts their values.
extension ServerAPIObject {
    /// Creates the transaction of a purchase in an App Receipt, in the order of the table.
    init(_ purchase: InAppPurchase, table: FieldTable<InAppField>) {
        self.init()
        for (field, _) in table.camelCase where field != .productAppleId {
            self[field.rawValue] = JSONScalar(field.value(of: purchase))
        }
    }

    /// Creates the single transaction of an iOS 6 receipt, in the order of the table.
    init(_ receipt: TransactionReceipt, table: FieldTable<PurchaseInfoField>) {
        self.init()
        for row in table.rows where row.field.belongsToTransaction && row.field != .productAppleId {
            guard let key = row.propertyListKey, let text = receipt[key], !text.isEmpty else { continue }
            self[row.field.rawValue] = JSONScalar(text, kind: row.field.kind)
        }
        if let date = receipt.revocationDate, self[PurchaseInfoField.revocationDate.rawValue] == nil {
            self[PurchaseInfoField.revocationDate.rawValue] = .integer(date.milliseconds)
            self[PurchaseInfoField.revocationReason.rawValue] = receipt.revocationReason.map(JSONScalar.integer)
        }
        let lineItem = PurchaseInfoField.webOrderLineItemId.rawValue
        if self[lineItem] == .text("0") { self[lineItem] = nil }
    }
}

extension JSONScalar {
    /// Converts a value to the type and spelling of a JWSTransaction. Returns `nil` if a JWSTransaction has no such
    /// value, and for the number 0 of an identifier, which means that there is none.
    fileprivate init?(_ value: FieldValue) {
        switch value {
        case .text(let text?):
            self = .text(text)
        case .number(let number?):
            self = .integer(number)
        case .identifier(let number?):
            guard number != 0 else { return nil }
            self = .text(String(number))
        case .flag(let number?):
            self = .flag(number != 0)
        case .instant(let instant?), .cancellation(let instant?, isConsumable: _):
            self = .integer(instant.milliseconds)
        case .ownership(let number?):
            guard let name = FieldValue.ownershipName(number) else { return nil }
            self = .text(name.description)
        case .productType(let type?):
            guard type != .freeSubscription, let name = type.displayName else { return nil }
            self = .text(name)
        default:
            return nil
        }
    }

    /// Converts a text of `purchase-info` to the type of its kind; `nil` if it does not have that form.
    fileprivate init?(_ text: String, kind: ValueKind) {
        switch kind {
        case .numberText, .millisecondsText:
            guard let number = Int64(text) else { return nil }
            self = .integer(number)
        case .flagText:
            guard let flag = JSONScalar.text(text).asFlag else { return nil }
            self = .flag(flag)
        default:
            self = .text(text)
        }
    }
}
