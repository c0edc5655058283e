/// The validation rules of Send Consumption Information: the allowed values of each field, and the error code for
/// others.
struct ConsumptionRules: Sendable {
    struct Field: Sendable {
        let name: String
        let code: Int64
        var isRequired = true
        let allows: @Sendable (JSONValue) -> Bool
    }

    let fields: [Field]
    let kinds: Set<SimulatedProduct.Kind>
    let crossFieldCheck: @Sendable (JSONValue, SimulatedProduct.Kind) throws(APIFailure) -> Void

    /// Throws the error of the first rule that the body violates.
    func check(_ document: JSONValue, _ kind: SimulatedProduct.Kind) throws(APIFailure) {
        for field in fields {
            if let value = document[field.name] {
                guard field.allows(value) else { throw APIFailure(field.code) }
            } else if field.isRequired {
                throw APIFailure(field.code)
            }
        }
        guard kinds.contains(kind) else { throw APIFailure(4_000_047) }
        try crossFieldCheck(document, kind)
    }

    static let second = ConsumptionRules(
        fields: [
            consent, sample,
            oneOf(
                "deliveryStatus", 4_000_036,
                [
                    "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM", "UNDELIVERED_SERVER_OUTAGE",
                    "UNDELIVERED_OTHER",
                ]),
            Field(name: "consumptionPercentage", code: 4_000_000, isRequired: false) {
                $0.integer.map { (0...100_000).contains($0) } ?? false
            },
            oneOf(
                "refundPreference", 4_000_044, ["DECLINE", "GRANT_FULL", "GRANT_PRORATED"], isRequired: false),
        ],
        kinds: [.autoRenewable, .consumable, .nonConsumable, .nonRenewing]
    ) { document, kind throws(APIFailure) in
        guard let percentage = document["consumptionPercentage"]?.integer else { return }
        // Apple itself knows the consumed share of a subscription.
        if kind == .autoRenewable { throw APIFailure(4_000_209) }
        // A share of something that was not delivered is an error, but Apple's code for it is not known.
        if percentage != 0, document["deliveryStatus"]?.text != "DELIVERED" { throw APIFailure(4_000_000) }
    }

    static let first = ConsumptionRules(
        fields: [
            consent,
            Field(name: "appAccountToken", code: 4_000_033) { value in
                value.text.map { $0.isEmpty || SimulatedServerAPI.isUUID($0) } ?? false
            },
            number("consumptionStatus", 4_000_034, 0...3), number("platform", 4_000_039, 0...2), sample,
            number("deliveryStatus", 4_000_036, 0...5), number("accountTenure", 4_000_032, 0...7),
            number("playTime", 4_000_040, 0...7), number("lifetimeDollarsRefunded", 4_000_038, 0...7),
            number("lifetimeDollarsPurchased", 4_000_037, 0...7), number("userStatus", 4_000_042, 0...4),
            number("refundPreference", 4_000_044, 0...3, isRequired: false),
        ],
        kinds: [.autoRenewable, .consumable]
    ) { _, _ throws(APIFailure) in }

    private static let consent = Field(name: "customerConsented", code: 4_000_035) { $0 == .bool(true) }
    private static let sample = Field(name: "sampleContentProvided", code: 4_000_041) { $0.flag != nil }

    private static func oneOf(_ name: String, _ code: Int64, _ values: Set<String>, isRequired: Bool = true) -> Field {
        Field(name: name, code: code, isRequired: isRequired) { $0.text.map(values.contains) ?? false }
    }

    private static func number(
        _ name: String, _ code: Int64, _ range: ClosedRange<Int64>, isRequired: Bool = true
    ) -> Field {
        Field(name: name, code: code, isRequired: isRequired) { $0.integer.map(range.contains) ?? false }
    }
}
