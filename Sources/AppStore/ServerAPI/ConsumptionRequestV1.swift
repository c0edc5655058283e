/// The older form of a consumption request's answer, which Apple still wants for Advanced Commerce; only for customers who
/// consented to its being sent.
///
/// Numbers stand for ranges; 0 is "undeclared" in all of them but `deliveryStatus`, where it is "delivered".
///
/// https://developer.apple.com/documentation/appstoreserverapi/consumptionrequestv1
package struct ConsumptionRequestV1: Sendable, Hashable {
    /// A field that is a number.
    package enum Field: String, Sendable, Hashable, CaseIterable {
        /// 1 to 7: up to 3, 10, 30, 90, 180, 365 days, more.
        case accountTenure
        /// 1 not, 2 in part, 3 all of it.
        case consumptionStatus
        /// 0 delivered; 1 quality, 2 wrong item, 3 outage, 4 a change of the game's currency, 5 other.
        case deliveryStatus
        /// 1 to 7: none, up to 49.99, 99.99, 499.99, 999.99, 1999.99 US dollars, more.
        case lifetimeDollarsPurchased
        /// The same of what was given back.
        case lifetimeDollarsRefunded
        /// 1 Apple's, 2 another.
        case platform
        /// 1 to 7: up to 5 minutes, 1, 6, 24 hours, 4, 16 days, more.
        case playTime
        /// 1 rather grant, 2 rather decline, 3 no preference.
        case refundPreference
        /// 1 active, 2 suspended, 3 terminated, 4 limited.
        case userStatus

        /// The values that Apple takes.
        package var values: ClosedRange<Int64> {
            switch self {
            case .platform: 0...2
            case .consumptionStatus, .refundPreference: 0...3
            case .userStatus: 0...4
            case .deliveryStatus: 0...5
            case .accountTenure, .lifetimeDollarsPurchased, .lifetimeDollarsRefunded, .playTime: 0...7
            }
        }

        /// Whether Apple refuses a request without it.
        package var isRequired: Bool { self != .refundPreference }
    }

    /// A UUID, or empty for none.
    package let appAccountToken: String
    /// Whether the customer could try it before buying.
    package let sampleContentProvided: Bool
    /// What is not here goes out as 0, or where it is not required, not at all.
    package let numbers: [Field: Int64]

    /// A request; making it vouches for the customer's consent. Nil where a number is none of its field's values.
    package init?(appAccountToken: String, sampleContentProvided: Bool, numbers: [Field: Int64]) {
        guard numbers.allSatisfy({ $0.key.values.contains($0.value) }) else { return nil }
        self.appAccountToken = appAccountToken
        self.sampleContentProvided = sampleContentProvided
        self.numbers = numbers
    }

    var body: [UInt8] {
        var body = JSONBody()
        body.add("customerConsented", true)
        body.add("appAccountToken", appAccountToken)
        body.add("sampleContentProvided", sampleContentProvided)
        for field in Field.allCases {
            body.add(field.rawValue, numbers[field] ?? (field.isRequired ? 0 : nil))
        }
        return body.bytes
    }
}
