/// Consumption information that helps Apple decide about a refund. Only for customers who consented to sending it.
///
/// https://developer.apple.com/documentation/appstoreserverapi/consumptionrequest
package struct ConsumptionRequest: Sendable, Hashable {
    /// The state of delivery of the purchased content.
    ///
    /// https://developer.apple.com/documentation/appstoreserverapi/deliverystatus
    package enum DeliveryStatus: String, Sendable, CaseIterable {
        /// Delivered and working.
        case delivered = "DELIVERED"
        /// Not working.
        case qualityIssue = "UNDELIVERED_QUALITY_ISSUE"
        /// The wrong item was delivered.
        case wrongItem = "UNDELIVERED_WRONG_ITEM"
        /// Not delivered because of a server outage.
        case serverOutage = "UNDELIVERED_SERVER_OUTAGE"
        /// Not delivered for another reason.
        case other = "UNDELIVERED_OTHER"
    }

    /// The developer's preference about the refund.
    ///
    /// https://developer.apple.com/documentation/appstoreserverapi/refundpreference
    package enum RefundPreference: String, Sendable, CaseIterable {
        /// Decline the refund.
        case decline = "DECLINE"
        /// Refund the full price.
        case grantFull = "GRANT_FULL"
        /// Refund the unused part.
        case grantProrated = "GRANT_PRORATED"
    }

    /// True if the customer could try the content before buying.
    package let sampleContentProvided: Bool
    /// The state of delivery.
    package let deliveryStatus: DeliveryStatus
    /// The consumed part in thousandths of a percent, 0 to 100000. Not allowed for auto-renewable subscriptions.
    package let consumptionPercentage: Int64?
    /// The preference; `nil` if there is none.
    package let refundPreference: RefundPreference?

    /// Creates a request. The caller asserts that the customer consented.
    package init(
        sampleContentProvided: Bool, deliveryStatus: DeliveryStatus, consumptionPercentage: Int64? = nil,
        refundPreference: RefundPreference? = nil
    ) {
        self.sampleContentProvided = sampleContentProvided
        self.deliveryStatus = deliveryStatus
        self.consumptionPercentage = consumptionPercentage
        self.refundPreference = refundPreference
    }

    /// The JSON body. `customerConsented` is always true.
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
