/// Which notifications of version 1 one of version 2 becomes: `Mappings/notifications.json`.
///
///     { "type": "REFUND", "subtype": "-", "when": ["autoRenewable"], "sends": ["CANCEL"], "loss": "…" }
///
/// Of the rows that fit, the first counts. `subtype` is `-` for none and `*` for any, also none; `profile` is there where
/// a row is for consumers of another time. A row that sends nothing names what is lost. A value of this type has been
/// checked completely.
package struct NotificationTable: Sendable {
    package struct Row: Sendable, Hashable {
        /// As Apple spells it.
        package let type: String
        /// `-` for none, `*` for any.
        package let subtype: String
        /// All must hold.
        package let conditions: [NotificationCondition]
        /// Nil for every profile.
        package let profile: NotificationV1Profile?
        /// In this order.
        package let sends: [NotificationV1Type]
        /// What the outer `auto_renew_status` says, whatever the record does.
        package let says: Bool?
        /// What version 1 does not tell.
        package let loss: String?
    }

    package let rows: [Row]

    /// Whether anything is sent of that type, whatever else is known.
    package func maySend(type: String, subtype: String?) -> Bool {
        rows.contains { row in
            row.type == type && (row.subtype == "*" || row.subtype == subtype ?? "-") && !row.sends.isEmpty
        }
    }

    /// Whether it takes the customer's history to choose among the rows of that type.
    package func asksForHistory(type: String, subtype: String?) -> Bool {
        rows.contains { row in
            row.type == type && (row.subtype == "*" || row.subtype == subtype ?? "-")
                && !Set(row.conditions).isDisjoint(with: [.sameProduct, .otherProduct])
        }
    }

    /// The first row that fits; nil for a type that nobody knew when the table was written.
    package func row(
        type: String, subtype: String?, profile: NotificationV1Profile, _ facts: NotificationFacts
    ) -> Row? {
        rows.first { row in
            row.type == type && (row.subtype == "*" || row.subtype == subtype ?? "-")
                && (row.profile.map { $0 == profile } ?? true)
                && row.conditions.allSatisfy(facts.hold)
        }
    }
}

/// Notifications of version 1.
///
/// https://developer.apple.com/documentation/appstoreservernotifications/notification_type
package enum NotificationV1Type: String, Sendable, Hashable, CaseIterable {
    case initialBuy = "INITIAL_BUY"
    case interactiveRenewal = "INTERACTIVE_RENEWAL"
    case didRenew = "DID_RENEW"
    case didRecover = "DID_RECOVER"
    case didChangeRenewalPref = "DID_CHANGE_RENEWAL_PREF"
    case didChangeRenewalStatus = "DID_CHANGE_RENEWAL_STATUS"
    case didFailToRenew = "DID_FAIL_TO_RENEW"
    case priceIncreaseConsent = "PRICE_INCREASE_CONSENT"
    case cancel = "CANCEL"
    case refund = "REFUND"
    case revoke = "REVOKE"
    case consumptionRequest = "CONSUMPTION_REQUEST"
}

/// Which time's version 1 a consumer was written for.
package enum NotificationV1Profile: String, Sendable, Hashable, CaseIterable {
    /// As the App Store sent it last.
    case current
    /// Upgrades also cancel the plan that they replace, as they did until the end of 2020.
    case year2020 = "2020"
}

/// What a row of ``NotificationTable`` may ask beyond type and subtype.
package enum NotificationCondition: String, Sendable, Hashable, CaseIterable {
    /// Its purchase came through the family.
    case familyShared
    case autoRenewable
    case consumable
    /// The subscription's period before was of the same product.
    case sameProduct
    /// It was of another one.
    case otherProduct
    /// The renewal is off, and is not known to have been before.
    case turnedOff
    /// The renewal is off, and a refund or an expiry was the last to say so.
    case announced
}

/// What is known around a notification when it becomes one of version 1.
package struct NotificationFacts: Sendable, Hashable {
    package var isFamilyShared = false
    package var isAutoRenewable = false
    package var isConsumable = false
    /// Of the period before; nil where that is not known.
    package var isSameProduct: Bool?
    /// What the notification's own record says; nil without one.
    package var renews: Bool?
    /// What was told of it last; nil where nothing was.
    package var renewedBefore: Bool?
    /// Whether that came with a refund or an expiry.
    package var wasToldByAnEnd = false

    package init() {}

    func hold(_ condition: NotificationCondition) -> Bool {
        switch condition {
        case .familyShared: isFamilyShared
        case .autoRenewable: isAutoRenewable
        case .consumable: isConsumable
        case .sameProduct: isSameProduct == true
        case .otherProduct: isSameProduct == false
        case .turnedOff: renews == false && renewedBefore != false
        case .announced: wasToldByAnEnd && renews == false && renewedBefore == false
        }
    }
}
