import ReceiptBridgeBase

/// Consumption information that helps Apple decide about a refund. Only for customers who consented to sending it.
///
/// https://developer.apple.com/documentation/appstoreserverapi/consumptionrequest
package struct ConsumptionRequest: Sendable, Hashable {
    /// The state of delivery of the purchased content.
    ///
    /// https://developer.apple.com/documentation/appstoreserverapi/deliverystatus
    package enum DeliveryStatus: String, Sendable, CaseIterable {
        case delivered = "DELIVERED"
        case qualityIssue = "UNDELIVERED_QUALITY_ISSUE"
        case wrongItem = "UNDELIVERED_WRONG_ITEM"
        case serverOutage = "UNDELIVERED_SERVER_OUTAGE"
        /// Not delivered for another reason.
        case other = "UNDELIVERED_OTHER"
    }

    /// The developer's preference about the refund.
    ///
    /// https://developer.apple.com/documentation/appstoreserverapi/refundpreference
    package enum RefundPreference: String, Sendable, CaseIterable {
        case decline = "DECLINE"
        case grantFull = "GRANT_FULL"
        case grantProrated = "GRANT_PRORATED"
    }

    /// True if the customer could try the content before buying.
    package let sampleContentProvided: Bool
    package let deliveryStatus: DeliveryStatus
    /// The consumed part in thousandths of a percent, 0 to 100000. Not allowed for auto-renewable subscriptions.
    package let consumptionPercentage: Int64?
    package let refundPreference: RefundPreference?

    /// Creates a request. The caller asserts that the customer consented.
    package init(
        sampleContentProvided: Bool, deliveryStatus: DeliveryStatus, consumptionPercentage: Int64? = nil,
        refundPreference: RefundPreference? = nil
    ) {
        (self.sampleContentProvided, self.deliveryStatus) = (sampleContentProvided, deliveryStatus)
        (self.consumptionPercentage, self.refundPreference) = (consumptionPercentage, refundPreference)
    }

    /// The JSON body. `customerConsented` is always true.
    var body: [UInt8] {
        JSONWriter.object {
            $0.member("customerConsented", true)
            $0.member("sampleContentProvided", sampleContentProvided)
            $0.member("deliveryStatus", deliveryStatus.rawValue)
            $0.member("consumptionPercentage", ifPresent: consumptionPercentage)
            $0.member("refundPreference", ifPresent: refundPreference?.rawValue)
        }
    }
}

/// Version 1 of the consumption information, which Apple still requires for Advanced Commerce. Only for customers who
/// consented to sending it.
///
/// The numbers stand for ranges. 0 means "undeclared" in every field except `deliveryStatus`, where it means
/// "delivered".
///
/// https://developer.apple.com/documentation/appstoreserverapi/consumptionrequestv1
package struct ConsumptionRequestV1: Sendable, Hashable {
    package enum Field: String, Sendable, Hashable, CaseIterable {
        /// Age of the account, 1 to 7: up to 3, 10, 30, 90, 180, 365 days, more.
        case accountTenure
        /// 1 not consumed, 2 partially consumed, 3 fully consumed.
        case consumptionStatus
        /// 0 delivered; 1 quality issue, 2 wrong item, 3 server outage, 4 change of the in-game currency, 5 other
        /// reason.
        case deliveryStatus
        /// 1 to 7: none, up to 49.99, 99.99, 499.99, 999.99, 1999.99 US dollars, more.
        case lifetimeDollarsPurchased
        /// The same ranges for refunded amounts.
        case lifetimeDollarsRefunded
        /// 1 an Apple platform, 2 another platform.
        case platform
        /// Time of use, 1 to 7: up to 5 minutes, 1, 6, 24 hours, 4, 16 days, more.
        case playTime
        /// 1 prefer to grant, 2 prefer to decline, 3 no preference.
        case refundPreference
        /// 1 active, 2 suspended, 3 terminated, 4 limited.
        case userStatus

        package var values: ClosedRange<Int64> {
            switch self {
            case .platform: 0...2
            case .consumptionStatus, .refundPreference: 0...3
            case .userStatus: 0...4
            case .deliveryStatus: 0...5
            case .accountTenure, .lifetimeDollarsPurchased, .lifetimeDollarsRefunded, .playTime: 0...7
            }
        }

        /// True if Apple rejects a request without this field.
        package var isRequired: Bool { self != .refundPreference }
    }

    /// The UUID the app set for the customer, or empty if there is none.
    package var appAccountToken: String
    package let sampleContentProvided: Bool
    /// The values by field. A missing field is sent as 0 if it is required, and omitted otherwise.
    package let numbers: [Field: Int64]

    /// Creates a request. The caller asserts that the customer consented, and that each number is one of
    /// ``Field/values``.
    package init(appAccountToken: String, sampleContentProvided: Bool, numbers: [Field: Int64]) {
        (self.appAccountToken, self.sampleContentProvided) = (appAccountToken, sampleContentProvided)
        self.numbers = numbers
    }

    var body: [UInt8] {
        JSONWriter.object { writer in
            writer.member("customerConsented", true)
            writer.member("appAccountToken", appAccountToken)
            writer.member("sampleContentProvided", sampleContentProvided)
            for field in Field.allCases {
                writer.member(field.rawValue, ifPresent: numbers[field] ?? (field.isRequired ? 0 : nil))
            }
        }
    }
}
