/// The developer's own product of a purchase by the Advanced Commerce API: `advancedCommerceInfo` of transactions and
/// renewals.
///
/// https://developer.apple.com/documentation/appstoreserverapi/advancedcommercetransactioninfo
package struct AdvancedCommerceDetails: Sendable, Hashable {
    package var sku: String
    /// UUID of the developer's request, in lower case.
    package var requestReferenceId: String
    /// Price in thousandths of a US dollar.
    package var price: Int64

    private var descriptors: JSONValue {
        .object(["description": .string("All lessons"), "displayName": .string("Lessons")])
    }

    private var items: JSONValue {
        .array([
            .object([
                "SKU": .string(sku), "description": .string("Lessons in Greek"), "displayName": .string("Greek"),
                "price": .number(price),
            ])
        ])
    }

    /// The value of `advancedCommerceInfo` in a transaction. The price includes a tax of a tenth.
    var transactionDocument: JSONValue {
        .object([
            "descriptors": descriptors, "estimatedTax": .number(price / 11), "items": items, "period": .string("P1M"),
            "requestReferenceId": .string(requestReferenceId), "taxCode": .string("S021-07-1"),
            "taxExclusivePrice": .number(price - price / 11), "taxRate": .string("0.1"),
        ])
    }

    /// The value of `advancedCommerceInfo` in a renewal.
    var renewalDocument: JSONValue {
        .object([
            "consistencyToken": .string(Base64.encode(Array(requestReferenceId.utf8))), "descriptors": descriptors,
            "items": items, "period": .string("P1M"), "requestReferenceId": .string(requestReferenceId),
            "taxCode": .string("S021-07-1"),
        ])
    }

    /// The SKU that the simulated developer sells, with a request id that follows from the original transaction.
    static func lessons(of originalTransactionId: String) -> AdvancedCommerceDetails {
        AdvancedCommerceDetails(
            sku: "com.example.lessons.greek",
            requestReferenceId: NotificationUUID.named("sku.\(originalTransactionId)"),
            price: SimulatedProduct.generic.price)
    }
}
