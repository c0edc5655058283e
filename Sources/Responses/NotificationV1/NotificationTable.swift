/// The mapping from version 2 notifications to version 1, read from `Mappings/notifications.json`. For example:
///
///     { "type": "REFUND", "subtype": "-", "when": ["autoRenewable"], "sends": ["CANCEL"], "loss": "…" }
///
/// The first row that matches counts. `subtype` is `-` for no subtype and `*` for any or none. `profile` is present
/// if a row is only for consumers that were written for an older version. A row that sends nothing describes what is
/// lost. A value of this type is always valid.
package struct NotificationTable: Sendable {
    /// One row: the notifications it matches, and the version 1 notifications that are sent for them.
    package struct Row: Sendable, Hashable {
        package let type: String
        /// The subtype; `-` for none, `*` for any or none.
        package let subtype: String
        package let conditions: [NotificationCondition]
        /// The profile; `nil` if the row applies to every profile.
        package let profile: NotificationV1Profile?
        package let sends: [NotificationV1Type]
        /// The value of the outer `auto_renew_status`, which overrides the renewal record.
        package let says: Bool?
        package let loss: String?

        /// Returns whether the row is for this type and subtype, whatever its conditions.
        func matches(_ type: String, _ subtype: String?) -> Bool {
            self.type == type && (self.subtype == "*" || self.subtype == subtype ?? "-")
        }
    }

    /// All rows, in the order in which they are tried.
    package let rows: [Row]

    /// Returns whether a row of this type can send a notification, whatever the conditions.
    package func canSend(type: String, subtype: String?) -> Bool {
        rows.contains { $0.matches(type, subtype) && !$0.sends.isEmpty }
    }

    package func needsHistory(type: String, subtype: String?) -> Bool {
        rows.contains {
            $0.matches(type, subtype) && !Set($0.conditions).isDisjoint(with: [.sameProduct, .otherProduct])
        }
    }

    /// Returns the first row that matches; `nil` for a type that was unknown when the table was written.
    package func row(
        type: String, subtype: String?, profile: NotificationV1Profile, _ facts: NotificationFacts
    ) -> Row? {
        rows.first { row in
            row.matches(type, subtype) && (row.profile.map { $0 == profile } ?? true)
                && row.conditions.allSatisfy(facts.satisfies)
        }
    }
}

/// The types of version 1 notifications.
///
/// https://developer.apple.com/documentation/appstoreservernotifications/notification_type
package enum NotificationV1Type: String, Sendable, Hashable, CaseIterable {
    /// The first purchase of a subscription.
    case initialBuy = "INITIAL_BUY"
    /// The customer renewed a subscription interactively.
    case interactiveRenewal = "INTERACTIVE_RENEWAL"
    /// A subscription was renewed for another period.
    case didRenew = "DID_RENEW"
    /// A subscription was renewed after a billing failure.
    case didRecover = "DID_RECOVER"
    /// The customer changed the plan that applies from the next renewal.
    case didChangeRenewalPref = "DID_CHANGE_RENEWAL_PREF"
    /// The renewal was turned on or off.
    case didChangeRenewalStatus = "DID_CHANGE_RENEWAL_STATUS"
    /// A subscription was not renewed because of a billing failure.
    case didFailToRenew = "DID_FAIL_TO_RENEW"
    /// The customer is asked for consent to a price increase.
    case priceIncreaseConsent = "PRICE_INCREASE_CONSENT"
    /// A subscription was canceled by Apple's support, or replaced by an upgrade.
    case cancel = "CANCEL"
    /// A purchase that is not an auto-renewable subscription was refunded.
    case refund = "REFUND"
    /// A purchase is no longer shared with the family.
    case revoke = "REVOKE"
    /// The customer requested a refund of a consumable, and Apple asks for its consumption.
    case consumptionRequest = "CONSUMPTION_REQUEST"
}

/// The period whose version 1 notifications a consumer was written for.
package enum NotificationV1Profile: String, Sendable, Hashable, CaseIterable {
    /// The last form that the App Store sent.
    case current
    /// Upgrades also cancel the plan that they replace, as they did until the end of 2020.
    case year2020 = "2020"
}

/// The conditions that a row of ``NotificationTable`` can have in addition to type and subtype.
package enum NotificationCondition: String, Sendable, Hashable, CaseIterable {
    /// The purchase was shared by a family member.
    case familyShared
    case autoRenewable
    case consumable
    /// The previous period of the subscription was for the same product.
    case sameProduct
    /// The previous period of the subscription was for another product.
    case otherProduct
    /// The renewal is off now, and was not recorded as off before.
    case turnedOff
    /// The renewal is off, and the last notification about this was a refund or an expiry.
    case announced
}

/// The circumstances of a notification that decide to which version 1 notifications it is mapped.
package struct NotificationFacts: Sendable, Hashable {
    package var isFamilyShared = false
    package var isAutoRenewable = false
    package var isConsumable = false
    /// Whether the previous period was for the same product; `nil` if this is unknown.
    package var isSameProduct: Bool?
    /// Whether the renewal is on according to the notification's own record; `nil` if it has no record.
    package var renews: Bool?
    /// The renewal state that was reported last; `nil` if none was reported.
    package var renewedBefore: Bool?
    /// Whether that state was reported with a refund or an expiry.
    package var isFromRefundOrExpiry = false

    package init() {}

    func satisfies(_ condition: NotificationCondition) -> Bool {
        switch condition {
        case .familyShared: isFamilyShared
        case .autoRenewable: isAutoRenewable
        case .consumable: isConsumable
        case .sameProduct: isSameProduct == true
        case .otherProduct: isSameProduct == false
        case .turnedOff: renews == false && renewedBefore != false
        case .announced: isFromRefundOrExpiry && renews == false && renewedBefore == false
        }
    }
}
