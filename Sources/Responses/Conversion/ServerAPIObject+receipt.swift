import ReceiptBridgeBase
import ReceiptBridgeReceipts

/// Builds camelCase transactions from receipts. They contain only properties that a JWSTransaction has;
/// ``ServerAPIObject/normalizeTransaction(bundleId:environment:)`` then converts their values.
extension ServerAPIObject {
    /// Creates the transaction of a purchase in an App Receipt, in the order of the table.
    init(_ purchase: InAppPurchase, table: FieldTable<InAppField>) {
        self.init()
        for (field, _) in table.camelCase where field != .productAppleId {
            self[field.rawValue] = field.value(of: purchase).ofTransaction
        }
    }

    /// Creates the single transaction of an iOS 6 receipt, in the order of the table.
    init(_ receipt: TransactionReceipt, table: FieldTable<PurchaseInfoField>) {
        self.init()
        for row in table.rows where row.field.belongsToTransaction && row.field != .productAppleId {
            guard let key = row.propertyListKey, let text = receipt[key], !text.isEmpty else { continue }
            let value = FieldValue(text, as: row.field.kind)
            // A JWSTransaction has numbers and booleans, so other texts have no place in it.
            if row.field.kind != .text, case .text? = value { continue }
            self[row.field.rawValue] = value
        }
        if let date = receipt.revocationDate, self[PurchaseInfoField.revocationDate.rawValue] == nil {
            self[PurchaseInfoField.revocationDate.rawValue] = .instant(date)
            self[PurchaseInfoField.revocationReason.rawValue] = receipt.revocationReason.map(FieldValue.number)
        }
        let lineItem = PurchaseInfoField.webOrderLineItemId.rawValue
        if self[lineItem] == .text("0") { self[lineItem] = nil }
    }
}

extension FieldValue {
    /// The value in the spelling of a JWSTransaction; `nil` if a JWSTransaction has no such value, and for the number 0
    /// of an identifier, which means that there is none.
    fileprivate var ofTransaction: FieldValue? {
        switch self {
        case .identifier(0): nil
        case .identifier(let number?): .text(String(number))
        case .ownership(let number?): Self.ownershipName(number).map { .text($0.description) }
        case .productType(let type?): type == .freeSubscription ? nil : type.displayName.map(FieldValue.text)
        case .bytes, .attributes: nil
        default: present
        }
    }
}
