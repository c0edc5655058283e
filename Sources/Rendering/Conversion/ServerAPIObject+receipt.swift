import ReceiptDecoding
import StoreTypes

/// What a receipt says of a purchase, for ``ServerAPIObject/becomeTransaction(bundleId:environment:)`` to put into Apple's
/// words: without what a JWSTransaction never has.
extension ServerAPIObject {
    /// A purchase of an App Receipt, in the order of the table.
    init(_ purchase: InAppPurchase, table: FieldTable<InAppField>) {
        self.init()
        for (field, _) in table.camelCase where field != .productAppleId {
            self[field.rawValue] = field.value(of: purchase).flatMap { JSONTree($0) }
        }
    }

    /// The one transaction of an iOS 6 receipt, in the order of the table.
    init(_ receipt: TransactionReceipt, table: FieldTable<PurchaseInfoField>) {
        self.init()
        for row in table.rows where row.field.isOfTransaction && row.field != .productAppleId {
            guard let key = row.propertyListKey, let text = receipt[key], !text.isEmpty else { continue }
            self[row.field.rawValue] = JSONTree(text, kind: row.field.kind)
        }
        let revocation = PurchaseInfoField.revocationDate.rawValue
        if self[revocation] == nil {
            self[revocation] = receipt.revocationDate.map { JSONTree.integer($0.milliseconds) }
        }
        let lineItem = PurchaseInfoField.webOrderLineItemId.rawValue
        if self[lineItem] == .text("0") { self[lineItem] = nil }
    }
}

extension JSONTree {
    /// In the type and the words of a JWSTransaction; nil for what has none there, and for a number that stands for none.
    fileprivate init?(_ value: FieldValue) {
        switch value {
        case .text(let text):
            self = .text(text)
        case .number(let number):
            self = .integer(number)
        case .identifier(let number):
            guard number != 0 else { return nil }
            self = .text(String(number))
        case .flag(let number):
            self = .flag(number != 0)
        case .instant(let instant), .cancellation(let instant, isConsumable: _):
            self = .integer(instant.milliseconds)
        case .ownership(let number):
            guard let name = FieldValue.ownershipName(number) else { return nil }
            self = .text(name.description)
        case .productType(let type):
            guard type != .freeSubscription, let name = type.displayName else { return nil }
            self = .text(name)
        case .bytes, .attributes:
            return nil
        }
    }

    /// The text of a `purchase-info` as what it stands for; nil where it does not look like that.
    fileprivate init?(_ text: String, kind: ValueKind) {
        switch kind {
        case .numberText, .millisecondsText:
            guard let number = Int64(text) else { return nil }
            self = .integer(number)
        case .flagText:
            guard let flag = JSONTree.text(text).asFlag else { return nil }
            self = .flag(flag)
        default:
            self = .text(text)
        }
    }
}
