/// What helps Apple decide about a refund; only for customers who consented to its being sent.
///
/// https://developer.apple.com/documentation/appstoreserverapi/consumptionrequest
package struct ConsumptionRequest: Sendable, Hashable {
    /// Whether the customer got what was bought.
    ///
    /// https://developer.apple.com/documentation/appstoreserverapi/deliverystatus
    package enum DeliveryStatus: String, Sendable, CaseIterable {
        /// It works.
        case delivered = "DELIVERED"
        /// It does not work.
        case qualityIssue = "UNDELIVERED_QUALITY_ISSUE"
        /// It was something else.
        case wrongItem = "UNDELIVERED_WRONG_ITEM"
        /// A server was down.
        case serverOutage = "UNDELIVERED_SERVER_OUTAGE"
        /// For another reason.
        case other = "UNDELIVERED_OTHER"
    }

    /// What the app's maker would like.
    ///
    /// https://developer.apple.com/documentation/appstoreserverapi/refundpreference
    package enum RefundPreference: String, Sendable, CaseIterable {
        /// No refund.
        case decline = "DECLINE"
        /// All of it back.
        case grantFull = "GRANT_FULL"
        /// What was not used back.
        case grantProrated = "GRANT_PRORATED"
    }

    /// Whether the customer could try it before buying.
    package let sampleContentProvided: Bool
    /// Whether the customer got it.
    package let deliveryStatus: DeliveryStatus
    /// Thousandths of a percent, 0 to 100000; never for auto-renewables.
    package let consumptionPercentage: Int64?
    /// Nil for none.
    package let refundPreference: RefundPreference?

    /// A request; making it vouches for the customer's consent.
    package init(
        sampleContentProvided: Bool, deliveryStatus: DeliveryStatus, consumptionPercentage: Int64? = nil,
        refundPreference: RefundPreference? = nil
    ) {
        self.sampleContentProvided = sampleContentProvided
        self.deliveryStatus = deliveryStatus
        self.consumptionPercentage = consumptionPercentage
        self.refundPreference = refundPreference
    }

    var body: [UInt8] {
        var body = JSONBody()
        body.add("customerConsented", true)
        body.add("sampleContentProvided", sampleContentProvided)
        body.add("deliveryStatus", deliveryStatus.rawValue)
        body.add("consumptionPercentage", consumptionPercentage)
        body.add("refundPreference", refundPreference?.rawValue)
        return body.bytes
    }
}
