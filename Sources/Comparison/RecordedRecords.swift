import ReceiptBridgeAppStore
package import ReceiptBridgeReceipts
package import ReceiptBridgeBase

/// Recorded responses of the App Store Server API. Rows are either JWS texts, which are verified, or decoded objects,
/// which have no signature.
///
/// https://developer.apple.com/documentation/appstoreserverapi/historyresponse
/// https://developer.apple.com/documentation/appstoreserverapi/statusresponse
package struct RecordedRecords: Sendable {
    /// A verifier of recorded JWS rows, and the signing time that is assumed for rows without a date.
    package typealias SignatureVerifier = (verifier: SignedPayloadVerifier, now: Timestamp)

    /// Environment in the envelope of the last response that has one.
    private(set) var environment: String?
    private(set) var bundleId: String?
    private(set) var appAppleId: Int64?
    private(set) var isVerified = true
    /// Transactions in the order of the pages; `nil` if no history was recorded.
    private(set) var transactions: [TransactionPayload]?
    /// Renewals of the subscription statuses; `nil` if no statuses were recorded.
    private(set) var renewals: [RenewalPayload]?
    /// Status by original transaction id, see ``ComparedAnswer/statuses``.
    private(set) var statuses: [String: Int64] = [:]
    private var signedTransactions: [Signed<TransactionPayload>] = []
    /// Subscriptions with their verified transactions and renewals, from which ``records`` are made.
    private var subscriptions: [SubscriptionRecord] = []

    /// - Parameters:
    ///   - history: Pages of `HistoryResponse`, whose `signedTransactions` are JWS texts or decoded objects.
    ///   - statuses: A `StatusResponse`, whose `signedTransactionInfo` and `signedRenewalInfo` are JWS texts or decoded
    ///     objects.
    ///   - verifier: If `nil`, a signed row is an error.
    package init(history: [[UInt8]]?, statuses: [UInt8]?, verifier: SignatureVerifier? = nil) throws(ComparisonError) {
        guard history != nil || statuses != nil else {
            throw ComparisonError(code: .missing, place: "serverAPI", reason: "neither history nor statuses recorded")
        }
        if let history {
            transactions = []
            for page in history { try read(history: page, verifier) }
        }
        if let statuses { try read(statuses: statuses, verifier) }
    }

    /// Records that the source `api` could render a response from; `nil` if rows are not signed, if there is no
    /// history, or if the statuses of its subscriptions are missing.
    package var records: CustomerRecords? {
        guard isVerified, !signedTransactions.isEmpty,
            let environment = (environment ?? signedTransactions.first?.payload.environment)
                .flatMap(AppStoreEnvironment.init(rawValue:))
        else { return nil }
        var pages = HistoryPages()
        guard (try? pages.add(signedTransactions, revision: nil, hasMore: false)) != nil else { return nil }
        let subscribes = pages.transactions.contains { $0.payload.isAutoRenewable }
        guard !subscribes || !subscriptions.isEmpty else { return nil }
        return CustomerRecords(
            environment: environment, bundleId: bundleId, appAppleId: appAppleId, transactions: pages.transactions,
            subscriptions: subscriptions, revision: nil)
    }

    /// Reads one page of the history. All rows of a page are either JWS texts or decoded objects.
    private mutating func read(history bytes: [UInt8], _ verifier: SignatureVerifier?) throws(ComparisonError) {
        let path = "history"
        let object = try Self.object(bytes, at: path)
        guard object.has("signedTransactions") else {
            throw ComparisonError(code: .notAnAnswer, place: path, reason: "signedTransactions is missing")
        }
        try readEnvelope(object, at: path)
        if let texts = try? object.texts("signedTransactions"), !texts.isEmpty {
            for (index, text) in texts.enumerated() {
                let path = "\(path).signedTransactions[\(index)]"
                let signed: Signed<TransactionPayload> = try Self.verified(text, at: path, verifier)
                transactions?.append(signed.payload)
                signedTransactions.append(signed)
            }
        } else {
            let rows = try Self.rows("signedTransactions", of: object, at: path)
            if !rows.isEmpty { isVerified = false }
            for (index, row) in rows.enumerated() {
                let path = "\(path).signedTransactions[\(index)]"
                transactions?.append(
                    try Self.fields(at: path) { () throws(JSONFieldError) in try TransactionPayload(row) })
            }
        }
        try ComparedAnswer.check(rows: transactions?.count ?? 0, at: path)
    }

    private static func verified<Payload: SignedClaims>(
        _ text: String, at path: String, _ verifier: SignatureVerifier?
    ) throws(ComparisonError) -> Signed<Payload> {
        guard let verifier else {
            throw ComparisonError(
                code: .signedRow, place: path, reason: "a signed row, but no verifier to check its signature")
        }
        do throws(SignedPayloadError) {
            return try verifier.verifier.verify(text, now: verifier.now)
        } catch {
            switch error.verdict {
            case .forged, .misplaced:
                throw ComparisonError(
                    code: .notAuthentic, place: path,
                    reason: "the signature of a row is not valid: \(error.code.rawValue)")
            case .notOfThisKind, .notJudged:
                throw ComparisonError(
                    code: .badValue, place: path, reason: "a signed row cannot be read: \(error.code.rawValue)")
            }
        }
    }

    private mutating func read(statuses bytes: [UInt8], _ verifier: SignatureVerifier?) throws(ComparisonError) {
        let path = "statuses"
        let object = try Self.object(bytes, at: path)
        guard object.has("data") else {
            throw ComparisonError(code: .notAnAnswer, place: path, reason: "data is missing")
        }
        try readEnvelope(object, at: path)
        renewals = []
        for group in try Self.rows("data", of: object, at: path) {
            for item in try Self.rows("lastTransactions", of: group, at: "\(path).data") {
                try readSubscription(
                    item, in: try? group.text("subscriptionGroupIdentifier"), at: "\(path).data.lastTransactions",
                    verifier)
                try ComparedAnswer.check(rows: statusesCount, at: path)
            }
        }
    }

    private var statusesCount: Int { max(renewals?.count ?? 0, statuses.count) }

    /// Reads one subscription of a status response. If a renewal is not signed, the whole recording is unverified.
    private mutating func readSubscription(
        _ item: JSONObject, in group: String?, at path: String, _ verifier: SignatureVerifier?
    ) throws(ComparisonError) {
        var transaction: Signed<TransactionPayload>?
        if let text = try? item.text("signedTransactionInfo") {
            transaction = try Self.verified(text, at: "\(path).signedTransactionInfo", verifier)
        }
        var signed: Signed<RenewalPayload>?
        if let text = try? item.text("signedRenewalInfo") {
            signed = try Self.verified(text, at: "\(path).signedRenewalInfo", verifier)
        } else {
            isVerified = false
        }
        var renewal = signed?.payload
        try Self.fields(at: path) { () throws(JSONFieldError) in
            if let id = try item.text("originalTransactionId"), let status = try item.integer("status") {
                statuses[id] = status
                subscriptions.append(
                    SubscriptionRecord(
                        subscriptionGroupIdentifier: group, originalTransactionId: id,
                        status: Int(clamping: status), transaction: transaction, renewal: signed))
            }
            if signed == nil, let object = try item.object("signedRenewalInfo") { renewal = try RenewalPayload(object) }
        }
        if let renewal { renewals?.append(renewal) }
    }

    private mutating func readEnvelope(_ object: JSONObject, at path: String) throws(ComparisonError) {
        try Self.fields(at: path) { () throws(JSONFieldError) in
            if let value = try object.text("environment") { environment = value }
            if let value = try object.text("bundleId") { bundleId = value }
            if let value = try object.integer("appAppleId") { appAppleId = value }
        }
    }
}

extension RecordedRecords {
    private static func object(_ bytes: [UInt8], at path: String) throws(ComparisonError) -> JSONObject {
        // Check the lengths of all lists before objects are allocated for their elements.
        let outline = try ComparedAnswer.outline(of: bytes, at: path)
        for index in outline.nodes.indices where outline.isArray(index) {
            var count = 0
            for _ in outline.children(of: index) { count += 1 }
            try ComparedAnswer.check(rows: count, at: path)
        }
        do throws(JSONStructureError) {
            return try JSONObject(bytes)
        } catch {
            throw ComparisonError(code: .malformed, place: path, reason: "not a JSON object: \(error)")
        }
    }

    /// Returns an array of objects; empty if the key is missing.
    private static func rows(
        _ name: StaticString, of object: JSONObject, at path: String
    ) throws(ComparisonError) -> [JSONObject] {
        try fields(at: "\(path).\(name)") { () throws(JSONFieldError) in try object.objects(name) ?? [] }
    }

    /// Returns the result of `read`. The error of a field gets the path of its object.
    private static func fields<Value>(
        at path: String, _ read: () throws(JSONFieldError) -> Value
    ) throws(ComparisonError) -> Value {
        do throws(JSONFieldError) {
            return try read()
        } catch {
            throw ComparisonError(code: .badValue, place: "\(path).\(error.name)", reason: "expected \(error.expected)")
        }
    }
}
