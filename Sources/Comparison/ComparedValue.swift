package import ReceiptBridgeBase
import ReceiptBridgeResponses

/// One value of either side, in the types of the App Store Server API.
package enum ComparedValue: Sendable, Hashable, Codable {
    /// A text, an id, or a value that could not be converted to its type.
    case text(String)
    case number(Int64)
    /// A Boolean value, read from any of the spellings that verifyReceipt uses.
    case flag(Bool)
    /// Written to JSON as a number of milliseconds.
    case instant(Timestamp)

    /// Longest text in bytes that a difference contains in full. The base64 text of a receipt can have 100,000 bytes.
    static let shownBytes = 128
    /// Number of leading characters of a longer text. The first characters of all receipts are the same, so more
    /// would not help.
    private static let shownBeginning = 24

    /// The value as a difference shows it: long texts are cut and their length is added. For example,
    /// `MIITtgYJKoZIhvcNAQcCoIIT… (53124 bytes)`.
    package var truncated: ComparedValue {
        guard case .text(let text) = self, text.utf8.count > Self.shownBytes else { return self }
        return .text("\(text.prefix(Self.shownBeginning))… (\(text.utf8.count) bytes)")
    }

    /// The values of both sides as a difference shows them. If two long texts begin with the same characters, the place
    /// where they begin to differ is shown instead of the beginning.
    static func truncated(_ one: ComparedValue?, _ other: ComparedValue?) -> (ComparedValue?, ComparedValue?) {
        let (first, second) = (one?.truncated, other?.truncated)
        guard first == second, one != other, let one = one?.text, let other = other?.text else {
            return (first, second)
        }
        let same = zip(one, other).prefix { $0 == $1 }.count
        func piece(_ text: String) -> ComparedValue {
            .text("…\(text.dropFirst(same).prefix(shownBeginning))… (\(text.utf8.count) bytes)")
        }
        return (piece(one), piece(other))
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var number: Int64? { if case .number(let number) = self { number } else { nil } }
    var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    var instant: Timestamp? { if case .instant(let instant) = self { instant } else { nil } }

    /// Converts a value of the field tables; `nil` if it is absent or not a scalar.
    init?(_ value: FieldValue) {
        switch value {
        case .text(let text?): self = .text(text)
        case .number(let number?): self = .number(number)
        case .identifier(let number?): self = .text(String(number))
        case .flag(let flag?): self = .flag(flag != 0)
        case .instant(let instant?), .cancellation(let instant?, isConsumable: _): self = .instant(instant)
        default: return nil
        }
    }
}

extension JSONWriter {
    mutating func value(_ value: ComparedValue?) {
        switch value?.truncated {
        case .text(let text)?: self.value(text)
        case .number(let number)?: self.value(number)
        case .flag(let flag)?: self.value(flag)
        case .instant(let instant)?: self.value(instant.milliseconds)
        case nil: null()
        }
    }
}

/// The properties of rows that are compared: those of transactions, then those that only renewals have.
///
/// The names are those of `JWSTransactionDecodedPayload` and `JWSRenewalInfoDecodedPayload`. Offers are the
/// exception: they are compared in the terms of `latest_receipt_info`, because verifyReceipt has less data about them
/// than the App Store Server API.
///
/// https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload
/// https://developer.apple.com/documentation/appstorereceipts/responsebody/latest_receipt_info
package enum RowField: Int, Sendable, CaseIterable {
    case transactionId, originalTransactionId, webOrderLineItemId, productId, purchaseDate, originalPurchaseDate
    case expiresDate, revocationDate, revocationReason, isUpgraded, quantity, inAppOwnershipType
    case subscriptionGroupIdentifier, appAccountToken, isTrialPeriod, isInIntroOfferPeriod, promotionalOfferId
    case offerCodeRefName
    case autoRenewProductId, autoRenewStatus, expirationIntent, isInBillingRetryPeriod, gracePeriodExpiresDate
    case priceIncreaseStatus
    /// verifyReceipt has two keys for what is one key in the App Store Server API.
    case priceConsentStatus

    package var name: String { Self.names[rawValue] }

    private static let names = allCases.map { "\($0)" }
    static let named = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })

    static let ofTransactions: [(field: RowField, source: TransactionKey)] = allCases.compactMap { field in
        TransactionKey(rawValue: field.name).map { (field, $0) }
    }

    static let ofRenewals: [(field: RowField, source: RenewalKey)] = allCases.compactMap { field in
        RenewalKey(rawValue: field == .priceConsentStatus ? "priceIncreaseStatus" : field.name).map { (field, $0) }
    }

    static let dates: [RowField] = [
        .purchaseDate, .originalPurchaseDate, .expiresDate, .revocationDate, .gracePeriodExpiresDate,
    ]
    static let offerIdentifiers: [RowField] = [.promotionalOfferId, .offerCodeRefName]
    static let transactionFields = ofTransactions.map(\.field)
    static let renewalFields = ofRenewals.map(\.field)

    /// Fields that rows of `in_app` never have.
    static let unknownToSnapshots = transactionFields.filter { InAppField(rawValue: $0.name) == nil }

    /// Fields that iOS 6 responses never have, because they are not in the table of iOS 6 rows.
    static let unknownToFlat: [RowField] = {
        let fields = Set(FieldTables.bundled.flatTransaction.rows.map(\.field.rawValue))
        return transactionFields.filter { !fields.contains($0.name) }
    }()
}
