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
    let documentation: String
    let wireColumn: String
    let viewColumn: String
    let fields: [Field]
    /// The names of the properties that this program's type for the model declares.
    let declared: Set<String>

    private init(
        _ name: String, _ documentation: String, of value: Any, columns: (wire: String, view: String), _ fields: [Field]
    ) {
        (self.name, self.documentation, (wireColumn, viewColumn)) = (name, documentation, columns)
        (self.fields, declared) = (fields.sorted { $0.name < $1.name }, Self.properties(of: value))
    }

    /// All models, in the order of the document.
    static var all: [AppleModel] {
        [transaction, transactionCommitment, renewal, renewalCommitment, appTransaction] + notification
    }

    /// Returns the names of the stored properties of a value, except the payload as a whole and what has no fixed name.
    private static func properties(of value: Any) -> Set<String> {
        Set(Mirror(reflecting: value).children.compactMap(\.label)).subtracting(["claims", "unknownContainer"])
    }
}

// MARK: - Server API

extension AppleModel {
    private static let serverAPI = "https://developer.apple.com/documentation/appstoreserverapi/"
    private static let responses = (wire: "verifyReceipt", view: "`/v1`")

    private static let transaction = AppleModel(
        "JWSTransactionDecodedPayload", serverAPI + "jwstransactiondecodedpayload", of: TransactionPayload(),
        columns: responses, payload(FieldTables.bundled.transaction, "latest_receipt_info[].", "transactions[]."))
    private static let transactionCommitment = nested(
        "commitmentInfo of a transaction", "jwstransactiondecodedpayload", of: TransactionCommitment(),
        view: "transactions[].commitmentInfo.",
        ["billingPeriodNumber", "totalBillingPeriods", "commitmentExpiresDate", "commitmentPrice"])
    private static let renewal = AppleModel(
        "JWSRenewalInfoDecodedPayload", serverAPI + "jwsrenewalinfodecodedpayload", of: RenewalPayload(),
        columns: responses,
        payload(FieldTables.bundled.renewal, "pending_renewal_info[].", "subscriptions[].renewalInfo."))
    private static let renewalCommitment = nested(
        "commitmentInfo of a renewal", "jwsrenewalinfodecodedpayload", of: RenewalCommitment(),
        view: "subscriptions[].renewalInfo.commitmentInfo.",
        [
            "commitmentAutoRenewProductId", "commitmentAutoRenewStatus", "commitmentRenewalBillingPlanType",
            "commitmentRenewalDate", "commitmentRenewalPrice",
        ])

    /// The fields of a signed payload: those of its table, without the keys that are derived from others.
    private static func payload<Key>(
        _ table: FieldTable<PayloadField<Key>>, _ wire: String, _ view: String
    ) -> [Field] {
        let derived = ["isTrialPeriod", "isInIntroOfferPeriod", "promotionalOfferId", "offerCodeRefName", "claims"]
        return PayloadField<Key>.allCases.map(\.rawValue).filter { !derived.contains($0) }
            .map { field($0, table, wire, view) }
    }

    private static func field<Property>(
        _ name: String, _ table: FieldTable<Property>, _ wire: String, _ view: String
    ) -> Field {
        let row = table.rows.first { $0.field.rawValue == name }
        let omission = table.omitted.first { $0.field.rawValue == name }
        return Field(name: name, wire: row.map { wire + $0.wire }, view: view + name, because: omission?.because ?? "")
    }

    /// The members of a nested object, none of which has a key.
    private static func nested(
        _ name: String, _ documentation: String, of value: Any, view: String, _ members: [String]
    ) -> AppleModel {
        AppleModel(
            name, serverAPI + documentation, of: value, columns: responses,
            members.map {
                Field(name: $0, wire: nil, view: view + $0, because: "verifyReceipt never had it")
            })
    }

    /// An app transaction has the names of a receipt. The values of `receipt` come from the submitted receipt.
    private static let appTransaction: AppleModel = {
        let onlyHere = [
            "appTransactionId": "verifyReceipt never had it", "originalPlatform": "verifyReceipt never had it",
            "deviceVerification": "only in an app transaction from a device",
            "deviceVerificationNonce": "only in an app transaction from a device",
        ]
        return AppleModel(
            "AppTransaction", serverAPI + "jwsapptransactiondecodedpayload", of: AppTransactionPayload(),
            columns: ("the same value of a receipt", responses.view),
            properties(of: AppTransactionPayload()).map { name in
                let field = field(name, FieldTables.bundled.appReceipt, "receipt.", "appTransaction.")
                return Field(name: name, wire: field.wire, view: field.view, because: onlyHere[name] ?? field.because)
            })
    }()
}

// MARK: - Notifications

extension AppleModel {
    /// Returns a part of the payload of a notification. Bodies forwarded as version 2 are the signed text unchanged.
    ///
    /// - Parameter keys: where its members go in version 1, or why they do not, as `no: …`.
    private static func part(
        _ name: String, _ documentation: String, of value: Any, at path: String, _ keys: [String: String]
    ) -> AppleModel {
        AppleModel(
            name, "https://developer.apple.com/documentation/appstoreservernotifications/" + documentation, of: value,
            columns: ("forwarded as version 1", "forwarded as version 2"),
            keys.map { name, key in
                let because = key.hasPrefix("no: ") ? String(key.dropFirst(4)) : ""
                return Field(name: name, wire: because.isEmpty ? key : nil, view: path + name, because: because)
            })
    }

    /// The members of a part that only notifications have which version 1 does not know.
    private static func unknownToVersion1(_ members: String...) -> [String: String] {
        Dictionary(uniqueKeysWithValues: members.map { ($0, "no: version 1 has no such notification") })
    }

    private static let notification = [
        part(
            "Notification payload", "responsebodyv2decodedpayload", of: NotificationPayload(), at: "",
            [
                "data": "unified_receipt", "notificationType": "notification_type",
                "notificationUUID": "no: version 1 never had it; duplicates are detected by it",
                "signedDate": "auto_renew_status_change_date", "subtype": "notification_type",
                "version": "no: version 1 never had it",
            ].merging(unknownToVersion1("summary", "externalPurchaseToken", "appData")) { key, _ in key }),
        part(
            "data of a notification", "data", of: NotificationPayload.PurchaseData(), at: "data.",
            [
                "appAppleId": "no: version 1 never had it", "bundleId": "bid", "bundleVersion": "bvrs",
                "consumptionRequestReason": "no: version 1 never had it", "environment": "environment",
                "signedRenewalInfo": "unified_receipt.pending_renewal_info",
                "signedTransactionInfo": "unified_receipt.latest_receipt_info",
                "status":
                    "no: expressed by the type and by unified_receipt; stored for responses of `stored`",
            ]),
        part(
            "summary of a notification", "summary", of: NotificationPayload.ExtensionSummary(), at: "summary.",
            unknownToVersion1(
                "environment", "appAppleId", "bundleId", "productId", "requestIdentifier", "storefrontCountryCodes",
                "succeededCount", "failedCount")),
        part(
            "externalPurchaseToken of a notification", "externalpurchasetoken",
            of: NotificationPayload.ExternalPurchaseToken(), at: "externalPurchaseToken.",
            unknownToVersion1(
                "externalPurchaseId", "tokenCreationDate", "appAppleId", "bundleId", "tokenType", "tokenExpirationDate")
        ),
        part(
            "appData of a notification", "appdata", of: NotificationPayload.AppData(), at: "appData.",
            unknownToVersion1("appAppleId", "bundleId", "environment", "signedAppTransactionInfo")),
    ]
}
