import ReceiptBridgeReceipts
import ReceiptBridgeResponses

/// The models of Apple's App Store Server API 1.21 and App Store Server Notifications 2, with the place of each field
/// in this program's output.
struct AppleModel {
    /// A field: its name, and where its value goes.
    struct Field {
        let name: String
        /// The key in a verifyReceipt response or in a forwarded version 1 body; `nil` if there is none.
        let wire: String?
        /// The member of the customer view or of a forwarded body that has the value.
        let view: String
        /// Why there is no key.
        let because: String
    }

    let name: String
    /// The path of Apple's documentation.
    let documentation: String
    /// The column of ``Field/wire``.
    let wireColumn: String
    /// The column of ``Field/view``.
    let viewColumn: String
    let fields: [Field]
    /// The names of the properties that this program's type for the model declares.
    let declared: Set<String>

    /// All models, in the order of the document.
    static var all: [AppleModel] {
        [transaction, transactionCommitment, renewal, renewalCommitment, appTransaction] + notification
    }

    /// Returns the names of the stored properties of a value, except the payload as a whole and what has no fixed name.
    private static func properties(of value: Any) -> Set<String> {
        Set(Mirror(reflecting: value).children.compactMap(\.label)).subtracting(["claims", "unknownContainer"])
    }

    /// Returns the fields of a model with a table in `Mappings/`.
    private static func fields<Property>(
        _ names: [String], _ table: FieldTable<Property>, wirePrefix: String, view: String
    ) -> [Field] {
        names.map { name in
            let row = table.rows.first { $0.field.rawValue == name }
            let omission = table.omitted.first { $0.field.rawValue == name }
            return Field(
                name: name, wire: row.map { wirePrefix + $0.wire }, view: view + name, because: omission?.because ?? "")
        }
    }

    /// Returns the members of a nested object, none of which has a key.
    private static func nested(_ names: [String], view: String) -> [Field] {
        names.map { Field(name: $0, wire: nil, view: view + $0, because: "verifyReceipt never had it") }
    }
}

// MARK: - Server API

extension AppleModel {
    private static let serverAPI = "https://developer.apple.com/documentation/appstoreserverapi/"
    private static let response = "verifyReceipt"
    private static let customerView = "`/v1`"

    private static let transaction = AppleModel(
        name: "JWSTransactionDecodedPayload", documentation: serverAPI + "jwstransactiondecodedpayload",
        wireColumn: response, viewColumn: customerView,
        fields: fields(
            [
                "advancedCommerceInfo", "appAccountToken", "appTransactionId", "billingPlanType", "bundleId",
                "commitmentInfo", "currency", "environment", "expiresDate", "inAppOwnershipType", "isUpgraded",
                "offerDiscountType", "offerIdentifier", "offerPeriod", "offerType", "originalPurchaseDate",
                "originalTransactionId", "previousOriginalTransactionId", "price", "productId", "purchaseDate",
                "quantity", "revocationDate", "revocationPercentage", "revocationReason", "revocationType",
                "signedDate", "storefront", "storefrontId", "subscriptionGroupIdentifier", "transactionId",
                "transactionReason", "type", "webOrderLineItemId",
            ], FieldTables.bundled.transaction, wirePrefix: "latest_receipt_info[].", view: "transactions[]."),
        declared: properties(of: TransactionPayload()))

    private static let transactionCommitment = AppleModel(
        name: "commitmentInfo of a transaction", documentation: serverAPI + "jwstransactiondecodedpayload",
        wireColumn: response, viewColumn: customerView,
        fields: nested(
            ["billingPeriodNumber", "commitmentExpiresDate", "commitmentPrice", "totalBillingPeriods"],
            view: "transactions[].commitmentInfo."),
        declared: properties(of: TransactionCommitment()))

    private static let renewal = AppleModel(
        name: "JWSRenewalInfoDecodedPayload", documentation: serverAPI + "jwsrenewalinfodecodedpayload",
        wireColumn: response, viewColumn: customerView,
        fields: fields(
            [
                "advancedCommerceInfo", "appAccountToken", "appTransactionId", "autoRenewProductId",
                "autoRenewStatus", "commitmentInfo", "currency", "eligibleWinBackOfferIds", "environment",
                "expirationIntent", "gracePeriodExpiresDate", "isInBillingRetryPeriod", "offerDiscountType",
                "offerIdentifier", "offerPeriod", "offerType", "originalTransactionId", "priceIncreaseStatus",
                "productId", "recentSubscriptionStartDate", "renewalBillingPlanType", "renewalDate", "renewalPrice",
                "signedDate",
            ], FieldTables.bundled.renewal, wirePrefix: "pending_renewal_info[].",
            view: "subscriptions[].renewalInfo."),
        declared: properties(of: RenewalPayload()))

    private static let renewalCommitment = AppleModel(
        name: "commitmentInfo of a renewal", documentation: serverAPI + "jwsrenewalinfodecodedpayload",
        wireColumn: response, viewColumn: customerView,
        fields: nested(
            [
                "commitmentAutoRenewProductId", "commitmentAutoRenewStatus", "commitmentRenewalBillingPlanType",
                "commitmentRenewalDate", "commitmentRenewalPrice",
            ], view: "subscriptions[].renewalInfo.commitmentInfo."),
        declared: properties(of: RenewalCommitment()))

    /// An app transaction has the names of a receipt. The values of `receipt` come from the submitted receipt.
    private static let appTransaction: AppleModel = {
        let onlyHere = [
            "appTransactionId": "verifyReceipt never had it", "originalPlatform": "verifyReceipt never had it",
            "deviceVerification": "only in an app transaction from a device",
            "deviceVerificationNonce": "only in an app transaction from a device",
        ]
        let names = [
            "appAppleId", "appTransactionId", "applicationVersion", "bundleId", "deviceVerification",
            "deviceVerificationNonce", "originalApplicationVersion", "originalPlatform", "originalPurchaseDate",
            "preorderDate", "receiptCreationDate", "receiptType", "versionExternalIdentifier",
        ]
        return AppleModel(
            name: "AppTransaction", documentation: serverAPI + "jwsapptransactiondecodedpayload",
            wireColumn: "the same value of a receipt", viewColumn: customerView,
            fields: fields(names, FieldTables.bundled.appReceipt, wirePrefix: "receipt.", view: "appTransaction.").map {
                Field(name: $0.name, wire: $0.wire, view: $0.view, because: onlyHere[$0.name] ?? $0.because)
            },
            declared: properties(of: AppTransactionPayload()))
    }()
}

// MARK: - Notifications

extension AppleModel {
    private static let notifications = "https://developer.apple.com/documentation/appstoreservernotifications/"

    /// Returns a part of the payload of a notification. Bodies forwarded as version 2 are the signed text unchanged.
    private static func part(
        _ name: String, _ documentation: String, of declared: Any, at path: String,
        _ fields: [(String, String?, String)]
    ) -> AppleModel {
        AppleModel(
            name: name, documentation: notifications + documentation, wireColumn: "forwarded as version 1",
            viewColumn: "forwarded as version 2",
            fields: fields.map { Field(name: $0.0, wire: $0.1, view: path + $0.0, because: $0.2) },
            declared: properties(of: declared))
    }

    private static let notification = [
        part(
            "Notification payload", "responsebodyv2decodedpayload", of: NotificationPayload(), at: "",
            [
                ("appData", nil, "version 1 has no such notification"), ("data", "unified_receipt", ""),
                ("externalPurchaseToken", nil, "version 1 has no such notification"),
                ("notificationType", "notification_type", ""),
                ("notificationUUID", nil, "version 1 never had it; duplicates are detected by it"),
                ("signedDate", "auto_renew_status_change_date", ""), ("subtype", "notification_type", ""),
                ("summary", nil, "version 1 has no such notification"), ("version", nil, "version 1 never had it"),
            ]),
        part(
            "data of a notification", "data", of: NotificationPayload.PurchaseData(), at: "data.",
            [
                ("appAppleId", nil, "version 1 never had it"), ("bundleId", "bid", ""), ("bundleVersion", "bvrs", ""),
                ("consumptionRequestReason", nil, "version 1 never had it"), ("environment", "environment", ""),
                ("signedRenewalInfo", "unified_receipt.pending_renewal_info", ""),
                ("signedTransactionInfo", "unified_receipt.latest_receipt_info", ""),
                ("status", nil, "expressed by the type and by unified_receipt; stored for responses of `stored`"),
            ]),
        part(
            "summary of a notification", "summary", of: NotificationPayload.ExtensionSummary(), at: "summary.",
            [
                "appAppleId", "bundleId", "environment", "failedCount", "productId", "requestIdentifier",
                "storefrontCountryCodes", "succeededCount",
            ].map { ($0, nil, "version 1 has no such notification") }),
        part(
            "externalPurchaseToken of a notification", "externalpurchasetoken",
            of: NotificationPayload.ExternalPurchaseToken(), at: "externalPurchaseToken.",
            [
                "appAppleId", "bundleId", "externalPurchaseId", "tokenCreationDate", "tokenExpirationDate", "tokenType",
            ].map { ($0, nil, "version 1 has no such notification") }),
        part(
            "appData of a notification", "appdata", of: NotificationPayload.AppData(), at: "appData.",
            ["appAppleId", "bundleId", "environment", "signedAppTransactionInfo"].map {
                ($0, nil, "version 1 has no such notification")
            }),
    ]
}
