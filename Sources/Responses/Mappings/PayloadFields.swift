package import ReceiptBridgeReceipts

/// A property that a table can map: one of `Key`, or any other claim as it is.
package enum PayloadField<Key: PayloadKey>: ModelField {
    case key(Key)
    /// The position of the claim in ``PayloadKey/others``.
    case claim(Int)

    package init?(rawValue: String) {
        if let key = Key(rawValue: rawValue) {
            self = .key(key)
        } else if let index = Key.others.firstIndex(where: { $0.name == rawValue }) {
            self = .claim(index)
        } else {
            return nil
        }
    }

    package var rawValue: String {
        switch self {
        case .key(let key): key.rawValue
        case .claim(let index): Key.others[index].name
        }
    }

    package var kind: ValueKind {
        switch self {
        case .key(let key): key.kind
        case .claim(let index): Key.others[index].kind
        }
    }

    /// - Parameter claims: those of the payload.
    package func value(of payload: Key.Payload, _ claims: inout PayloadClaims) -> FieldValue {
        switch self {
        case .key(let key): key.value(of: payload)
        case .claim(let index): Key.other(index, of: payload, &claims)
        }
    }

    package static var modelName: String { Key.modelName }
    package static var place: String { Key.place }
    package static var allCases: [Self] { Key.allCases.map(Self.key) + Key.others.indices.map(Self.claim) }
    package static var addedLater: Set<Self> { Set(Key.others.indices.suffix(Key.added.count).map(Self.claim)) }
}

/// The properties of a payload that responses express in another way than by a claim as it is. So that loops over rows
/// are fast, also the claims that the tables of this program map.
package protocol PayloadKey: RawRepresentable<String>, CaseIterable, Sendable, Hashable {
    associatedtype Payload: Sendable
    static var modelName: String { get }
    static var place: String { get }
    /// All other claims. Those of ``added`` are the last ones.
    static var others: [PayloadClaim] { get }
    static var added: [PayloadClaim] { get }
    static func other(_ index: Int, of payload: Payload, _ claims: inout PayloadClaims) -> FieldValue
    var kind: ValueKind { get }
    func value(of payload: Payload) -> FieldValue
}

extension PayloadKey {
    package static func other(_ index: Int, of payload: Payload, _ claims: inout PayloadClaims) -> FieldValue {
        claims[others[index]]
    }
}

/// The signed JSON of a payload. It is parsed for the first of its claims that is read, and once for all of them.
package struct PayloadClaims {
    private let json: [UInt8]
    private var object: DocumentObject??

    init(_ json: [UInt8]) { self.json = json }

    fileprivate subscript(claim: PayloadClaim) -> FieldValue {
        mutating get {
            let read = object ?? (try? ResponseDocument(json))?.root
            object = .some(read)
            return read?.read([claim.name], as: claim.kind)?.value ?? .text(nil)
        }
    }
}

/// A claim that is written as it is. Objects and lists have no conversion, so a table can only omit them.
package struct PayloadClaim: Sendable {
    let name: String
    let kind: ValueKind

    fileprivate static func list(_ kind: ValueKind, _ names: String...) -> [Self] {
        names.map { Self(name: $0, kind: kind) }
    }
}

package typealias TransactionField = PayloadField<TransactionKey>
package typealias RenewalField = PayloadField<RenewalKey>

/// The properties of a ``TransactionPayload`` that responses have, of which those of its offer are derived.
package enum TransactionKey: String, PayloadKey {
    case quantity, productId, transactionId, originalTransactionId, purchaseDate, originalPurchaseDate, expiresDate
    case webOrderLineItemId, inAppOwnershipType, subscriptionGroupIdentifier, isUpgraded, appAccountToken
    case revocationDate, revocationReason
    /// Derived from `offerType`, `offerDiscountType`, `offerIdentifier` and `purchaseDate`.
    case isTrialPeriod, isInIntroOfferPeriod, promotionalOfferId, offerCodeRefName
    case claims

    package static let modelName = "TransactionPayload"
    package static let place = "latest_receipt_info[]"
    package static let others =
        PayloadClaim.list(
            .text, "bundleId", "environment", "type", "offerIdentifier", "offerDiscountType", "offerPeriod",
            "transactionReason", "storefront", "storefrontId", "currency", "appTransactionId", "revocationType")
        + PayloadClaim.list(.number, "offerType", "price", "revocationPercentage")
        + PayloadClaim.list(.instant, "signedDate") + added
    package static let added =
        PayloadClaim.list(.text, "billingPlanType", "previousOriginalTransactionId")
        + PayloadClaim.list(.bytes, "commitmentInfo", "advancedCommerceInfo")

    /// The keys of an offer in a response: the two flags, which rows without an offer have, too, and the identifiers.
    static let offerKeys: [Self] = [.isTrialPeriod, .isInIntroOfferPeriod, .promotionalOfferId, .offerCodeRefName]

    package var kind: ValueKind { value(of: TransactionPayload()).kind }

    package func value(of transaction: TransactionPayload) -> FieldValue {
        switch self {
        case .quantity: .number(transaction.quantity ?? 1)
        case .productId: .text(transaction.productId)
        case .transactionId: .text(transaction.transactionId)
        case .originalTransactionId: .text(transaction.originalTransactionId)
        case .purchaseDate: .instant(transaction.purchaseDate)
        case .originalPurchaseDate: .instant(transaction.originalPurchaseDate)
        case .expiresDate: .instant(transaction.isAutoRenewable ? transaction.expiresDate : nil)
        case .webOrderLineItemId: .text(transaction.webOrderLineItemId)
        case .inAppOwnershipType: .text(transaction.inAppOwnershipType)
        case .subscriptionGroupIdentifier: .text(transaction.subscriptionGroupIdentifier)
        case .isUpgraded: .flag(transaction.isUpgraded == true ? 1 : nil)
        case .appAccountToken: .text(transaction.appAccountToken)
        case .revocationDate: .cancellation(transaction.revocationDate, isConsumable: transaction.isConsumable)
        case .revocationReason:
            .number(transaction.revocationDate == nil || transaction.isConsumable ? nil : transaction.revocationReason)
        case .isTrialPeriod: .flag(transaction.isTrial ? 1 : 0)
        case .isInIntroOfferPeriod:
            .flag(transaction.isAutoRenewable ? (transaction.isInIntroductoryPeriod ? 1 : 0) : nil)
        case .promotionalOfferId: .offer(.promotional, transaction.offerType, transaction.offerIdentifier)
        case .offerCodeRefName: .offer(.offerCode, transaction.offerType, transaction.offerIdentifier)
        case .claims: .bytes(nil)
        }
    }
}

/// The properties of a ``RenewalPayload`` that responses have, of which those of its offer are derived.
package enum RenewalKey: String, PayloadKey {
    case originalTransactionId, productId, autoRenewProductId, autoRenewStatus, expirationIntent
    case isInBillingRetryPeriod, gracePeriodExpiresDate, priceIncreaseStatus
    /// Derived from `offerType` and `offerIdentifier`.
    case promotionalOfferId, offerCodeRefName
    case claims

    package static let modelName = "RenewalPayload"
    package static let place = "pending_renewal_info[]"
    package static let others =
        PayloadClaim.list(
            .text, "offerIdentifier", "offerDiscountType", "offerPeriod", "currency", "appAccountToken",
            "appTransactionId", "environment")
        + PayloadClaim.list(.number, "offerType", "renewalPrice")
        + PayloadClaim.list(.instant, "recentSubscriptionStartDate", "renewalDate", "signedDate")
        + PayloadClaim.list(.attributes, "eligibleWinBackOfferIds") + added
    package static let added =
        PayloadClaim.list(.text, "renewalBillingPlanType")
        + PayloadClaim.list(.bytes, "commitmentInfo", "advancedCommerceInfo")

    package var kind: ValueKind { value(of: RenewalPayload()).kind }

    package func value(of renewal: RenewalPayload) -> FieldValue {
        switch self {
        case .originalTransactionId: .text(renewal.originalTransactionId)
        case .productId: .text(renewal.productId)
        case .autoRenewProductId: .text(renewal.autoRenewProductId ?? renewal.productId)
        case .autoRenewStatus: .number(renewal.autoRenewStatus)
        case .expirationIntent: .number(renewal.expirationIntent)
        case .isInBillingRetryPeriod:
            switch renewal.isInBillingRetryPeriod {
            case true?: .flag(1)
            // Apple's responses of 2020 contain `"0"` only for subscriptions that have ended.
            case false?: .flag(renewal.expirationIntent == nil ? nil : 0)
            case nil: .flag(nil)
            }
        case .gracePeriodExpiresDate: .instant(renewal.gracePeriodExpiresDate)
        case .priceIncreaseStatus: .number(renewal.priceIncreaseStatus)
        case .promotionalOfferId: .offer(.promotional, renewal.offerType, renewal.offerIdentifier)
        case .offerCodeRefName: .offer(.offerCode, renewal.offerType, renewal.offerIdentifier)
        case .claims: .bytes(nil)
        }
    }
}

extension FieldValue {
    fileprivate static func offer(_ type: OfferType, _ actual: Int64?, _ identifier: String?) -> FieldValue {
        .text(actual == type.rawValue ? identifier : nil)
    }
}
