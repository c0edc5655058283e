extension ServerAPIErrorNumber {
    /// A short explanation of an error for the user who entered the request; `nil` if Apple's own message is enough.
    package var meaning: String? { Self.meanings[rawValue] }

    private static let meanings: [Int64: String] = [
        4_000_000: "the request is not as Apple wants it",
        4_000_006: "not a transaction id of this app",
        4_000_008: "not an original transaction id of this app",
        4_000_009: "the number of days is none that Apple takes",
        4_000_010: "the reason is none that Apple takes",
        4_000_011: "the request id is none that Apple takes",
        4_000_012: "further back than Apple remembers",
        4_000_018: "not a notification type or subtype",
        4_000_019: "either a transaction or a type",
        4_000_020: "not a token of a test notification",
        4_000_023: "not a product id of this app",
        4_000_027: "no storefront",
        4_000_028: "one of the storefronts is none",
        4_000_035: "the customer's consent is missing",
        4_000_047: "this kind of product is not taken",
        4_000_048: "the id of a download, where one of a transaction is wanted",
        4_000_183: "the token is not a UUID",
        4_000_185: "a purchase that the family shares",
        4_000_187: "not an original transaction id",
        4_000_209: "a percentage, of a subscription",
        4_030_004: "the subscription cannot be extended: not active, or nothing was paid for yet",
        4_030_005: "the subscription was extended twice in 365 days",
        4_030_007: "the subscription is shared in a family: only its buyer's can be extended",
        4_040_005: "no such original transaction in this environment",
        4_040_007: "no notification URL is configured for this environment",
        4_040_008: "no such test notification, or not yet",
        4_040_009: "no such extension request of this product",
        4_040_010: "no such transaction in this environment",
    ]
}
