package import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// A customer of the app in one environment.
package struct SimulatedCustomer: Sendable, Hashable {
    package let id: String
    package let environment: AppStoreEnvironment
    package let kind: CustomerKind
    /// Transactions in ascending order of purchase.
    package var transactions: [SimulatedTransaction] = []
    package var renewals: [SimulatedRenewal] = []
    package var receipts: [ReceiptPlan] = []
    /// `identifierForVendor` of the device; transactionReceipts contain it.
    package var vendorIdentifier: String
    /// Id of the customer's download of the app; every purchase contains it.
    package let appTransactionId: String
    /// Date of the order, if the app was ordered before its release.
    package var preorderDate: Timestamp?
    /// Instant of the last change since the world was generated. Data signed for this customer later has no earlier
    /// `signedDate`.
    package var changedAt: Timestamp?
    /// Whether the App Store knows a download of the app by this customer. If not, no transaction has an
    /// `appTransactionId`.
    var hasAppTransaction = true
    package var originalPlatform = "iOS"
    var isConsentRescinded = false
    /// The account was deleted, or the tester is no longer one. The Server API and verifyReceipt do not find it.
    var isRemoved = false

    /// The verifyReceipt status for each receipt of this customer, in the customer's environment and with the right
    /// password: 0, or 21006 if the subscription of a transactionReceipt has expired.
    package var expectedStatus: Int64 {
        let isOld = receipts.contains { $0.version != nil }
        return isOld && !renewals.isEmpty && !renewals.contains(where: \.isEntitled) ? 21006 : 0
    }

    /// Ids of the auto-renewable products that the customer may use now, sorted.
    package var activeProductIds: [String] { Set(renewals.filter(\.isEntitled).map(\.productId)).sorted() }

    /// Returns the transaction with that id, which may also be the id from a restore.
    package func transaction(_ id: String) -> SimulatedTransaction? {
        transactions.first { $0.transactionId == id || $0.restoredId == id }
    }

    func renewal(of transaction: SimulatedTransaction) -> SimulatedRenewal? {
        renewals.first { $0.originalTransactionId == transaction.originalTransactionId }
    }

    func newestTransaction(of renewal: SimulatedRenewal) -> SimulatedTransaction? {
        transactions.filter { $0.originalTransactionId == renewal.originalTransactionId }
            .max { $0.purchaseDate < $1.purchaseDate }
    }

    mutating func change(
        _ originalTransactionId: String, transactions change: (inout SimulatedTransaction) -> Void,
        renewals changeRenewal: (inout SimulatedRenewal) -> Void
    ) {
        for index in transactions.indices where transactions[index].originalTransactionId == originalTransactionId {
            change(&transactions[index])
        }
        for index in renewals.indices where renewals[index].originalTransactionId == originalTransactionId {
            changeRenewal(&renewals[index])
        }
    }

    /// Returns the instant of a new change: later than every earlier change and than everything signed before it.
    mutating func tick(_ now: Timestamp) -> Timestamp {
        let instant = max(now, changedAt ?? now).advanced(by: .milliseconds(1))
        changedAt = instant
        return instant
    }

    /// A day before the first purchase, or in the sandbox always 2013-08-01. Purchases after the creation of the first
    /// receipt do not change the date, because that receipt already contains it.
    package var originalPurchaseDate: Timestamp {
        if environment != .production { return Timestamp(seconds: 1_375_340_400) }
        let device = receipts.first?.creationDate ?? Timestamp(seconds: 1_600_000_000)
        if let first = transactions.first, receipts.isEmpty || first.purchaseDate <= device {
            return Timestamp(seconds: first.purchaseDate.seconds - Seconds.day)
        }
        return Timestamp(seconds: device.seconds - 400 * Seconds.day)
    }

    /// The version of the app at the first download; in the sandbox always 1.0.
    package var originalApplicationVersion: String { environment == .production ? "17" : "1.0" }
}

/// The plan of a receipt on a customer's device: its creation date and the transactions it lists.
package struct ReceiptPlan: Sendable, Hashable {
    package var id: String
    /// `nil` for an App Receipt, 2 to 4 for a transactionReceipt.
    package var version: UInt8?
    package let creationDate: Timestamp
    /// Ids of the listed transactions; exactly one for a transactionReceipt.
    package let transactionIds: [String]
    /// Seed of the opaque attribute values and of the order of the lines in purchase-info.
    package let seed: UInt64
    var isVolumePurchase = false

    /// Receipts say since about 2021 whether a purchase is shared by the family; older ones have neither the
    /// attribute 1722 nor the key `in_app_ownership_type`.
    var includesOwnership: Bool { creationDate >= Timestamp(seconds: 1_609_459_200) }

    /// 2023-06-20, the first day on which this App Store signs receipts with SHA-256. Apple's first receipts that are
    /// known to be signed so are of August 2023.
    static let firstSHA256 = Timestamp(seconds: 1_687_219_200)

    /// The version of a transactionReceipt that is signed on a day: 2 until 2016-05-15, then 3, and 4 with SHA-256.
    static func transactionReceiptVersion(at date: Timestamp) -> UInt8 {
        if date < Timestamp(seconds: 1_463_356_800) { return 2 }
        return date < firstSHA256 ? 3 : 4
    }

    /// Value of `style` in the files of a state directory.
    package var style: String { version == nil ? "appReceipt" : "transactionReceipt" }
}

/// A customer's download of the app: the fields of an app transaction.
///
/// https://developer.apple.com/documentation/appstoreserverapi/jwsapptransactiondecodedpayload
extension SimulatedCustomer {
    /// - Parameter isOfDevice: whether it is the one on the customer's device, which has more fields than that of the
    ///   Server API and of notifications.
    package func appTransaction(
        receiptCreationDate: Timestamp, bundleId: String = SimulatedApp.first.bundleId, isOfDevice: Bool = false
    ) -> JSONValue? {
        guard hasAppTransaction else { return nil }
        let isProduction = environment == .production
        let version = isProduction ? 860_000_001 : 0
        // The verification value is computed as Apple documents it:
        // https://developer.apple.com/documentation/storekit/apptransaction/deviceverification
        let nonce = SplitMix64.uuid(named: "device.\(environment.rawValue).\(id)")
        let verification = SHA.digest(Array((nonce + vendorIdentifier.lowercased()).utf8), with: .sha384)
        return JSONValue([
            "receiptType": environment.rawValue,
            // Absent in the sandbox.
            "appAppleId": isProduction ? SimulatedApp.first.appAppleId : nil, "bundleId": bundleId,
            "applicationVersion": isOfDevice ? "42" : nil,
            "versionExternalIdentifier": isOfDevice ? version : nil,
            "receiptCreationDate": receiptCreationDate.milliseconds,
            "originalPurchaseDate": originalPurchaseDate.milliseconds,
            "originalApplicationVersion": originalApplicationVersion,
            "deviceVerification": isOfDevice ? Base64.encode(verification) : nil,
            "deviceVerificationNonce": isOfDevice ? nonce : nil,
            "preorderDate": preorderDate?.milliseconds, "appTransactionId": appTransactionId,
            "originalPlatform": originalPlatform,
        ])
    }
}
