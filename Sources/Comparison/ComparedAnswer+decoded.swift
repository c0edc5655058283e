package import AppStore
import JSONReading
package import StoreTypes

extension ComparedAnswer {
    /// Who vouches for recorded rows.
    package struct Voucher: Sendable {
        let verifier: SignedPayloadVerifier
        /// When rows without a date count as signed.
        let now: Timestamp

        /// Signed rows are verified.
        package init(verifier: SignedPayloadVerifier, now: Timestamp) {
            self.verifier = verifier
            self.now = now
        }
    }

    /// Recorded answers of the App Store Server API. Their rows are signed texts, which are verified, or decoded objects,
    /// for which nobody vouches.
    ///
    /// - Parameters:
    ///   - history: pages of HistoryResponse, `signedTransactions` holding texts or objects; nil where there is none.
    ///   - statuses: a StatusResponse, `signedTransactionInfo` and `signedRenewalInfo` holding texts or objects.
    ///   - voucher: nil refuses signed rows.
    ///
    /// https://developer.apple.com/documentation/appstoreserverapi/historyresponse
    /// https://developer.apple.com/documentation/appstoreserverapi/statusresponse
    package init(
        history: [[UInt8]]?, statuses: [UInt8]?, voucher: Voucher? = nil
    ) throws(ComparisonError) {
        guard history != nil || statuses != nil else {
            throw ComparisonError(code: .missing, place: "serverAPI", reason: "neither history nor statuses")
        }
        self.init(form: .records)
        isVerified = true
        if let history {
            latest = []
            for page in history { try read(history: page, voucher) }
        }
        if let statuses { try read(statuses: statuses, voucher) }
    }

    private mutating func read(history bytes: [UInt8], _ voucher: Voucher?) throws(ComparisonError) {
        let place = "history"
        let object = try Self.object(bytes, at: place)
        guard object.has("signedTransactions") else {
            throw ComparisonError(code: .notAnAnswer, place: place, reason: "there is no signedTransactions")
        }
        try readEnvelope(object, at: place)
        if let texts = try? object.texts("signedTransactions"), !texts.isEmpty {
            for (index, text) in texts.enumerated() {
                let place = "\(place).signedTransactions[\(index)]"
                let payload: TransactionPayload = try Self.verified(text, at: place, voucher)
                latest?.append(ComparedRow(payload))
            }
        } else {
            let rows = try Self.rows("signedTransactions", of: object, at: place)
            if !rows.isEmpty { isVerified = false }
            for (index, row) in rows.enumerated() {
                latest?.append(ComparedRow(try Self.payload(row, at: "\(place).signedTransactions[\(index)]")))
            }
        }
        try Self.check(rows: latest?.count ?? 0, at: place)
    }

    private static func verified<Payload: SignedClaims>(
        _ text: String, at place: String, _ voucher: Voucher?
    ) throws(ComparisonError) -> Payload {
        guard let voucher else {
            throw ComparisonError(
                code: .signedRow, place: place, reason: "a signed row, which must be verified first")
        }
        do throws(SignedPayloadError) {
            return try voucher.verifier.verify(text, now: voucher.now).payload
        } catch {
            throw ComparisonError(
                code: .notAuthentic, place: place, reason: "a row that is not authentic: \(error.code.rawValue)")
        }
    }

    private mutating func read(statuses bytes: [UInt8], _ voucher: Voucher?) throws(ComparisonError) {
        let place = "statuses"
        let object = try Self.object(bytes, at: place)
        guard object.has("data") else {
            throw ComparisonError(code: .notAnAnswer, place: place, reason: "there is no data")
        }
        try readEnvelope(object, at: place)
        renewals = []
        for group in try Self.rows("data", of: object, at: place) {
            for item in try Self.rows("lastTransactions", of: group, at: "\(place).data") {
                try readSubscription(item, at: "\(place).data.lastTransactions", voucher)
                try Self.check(rows: statusesCount, at: place)
            }
        }
    }

    private var statusesCount: Int { max(renewals?.count ?? 0, statuses.count) }

    private mutating func readSubscription(
        _ item: JSONObject, at place: String, _ voucher: Voucher?
    ) throws(ComparisonError) {
        if let text = try? item.text("signedTransactionInfo") {
            let _: TransactionPayload = try Self.verified(text, at: "\(place).signedTransactionInfo", voucher)
        }
        var renewal: RenewalPayload?
        if let text = try? item.text("signedRenewalInfo") {
            renewal = try Self.verified(text, at: "\(place).signedRenewalInfo", voucher)
        } else {
            isVerified = false
        }
        let isSigned = renewal != nil
        do throws(JSONFieldError) {
            if let id = try item.text("originalTransactionId"), let status = try item.integer("status") {
                statuses[id] = status
            }
            if !isSigned, let object = try item.object("signedRenewalInfo") { renewal = try RenewalPayload(object) }
        } catch {
            throw Self.failure(error, at: place)
        }
        if let renewal { renewals?.append(ComparedRow(renewal)) }
    }

    private mutating func readEnvelope(_ object: JSONObject, at place: String) throws(ComparisonError) {
        do throws(JSONFieldError) {
            if let said = try object.text("environment") { environment = said }
            if let said = try object.text("bundleId") { bundleId = said }
            if let said = try object.integer("appAppleId") { appAppleId = said }
        } catch {
            throw Self.failure(error, at: place)
        }
    }
}

extension ComparedAnswer {
    private static func object(_ bytes: [UInt8], at place: String) throws(ComparisonError) -> JSONObject {
        // Before objects are made of them: how long the lists are.
        let outline = try outline(of: bytes, at: place)
        for index in outline.nodes.indices where outline.isArray(index) {
            var count = 0
            for _ in outline.children(of: index) { count += 1 }
            try check(rows: count, at: place)
        }
        do throws(JSONStructureError) {
            return try JSONObject(bytes)
        } catch {
            throw ComparisonError(code: .malformed, place: place, reason: "not a JSON object: \(error)")
        }
    }

    private static func payload(_ object: JSONObject, at place: String) throws(ComparisonError) -> TransactionPayload {
        do throws(JSONFieldError) {
            return try TransactionPayload(object)
        } catch {
            throw failure(error, at: place)
        }
    }

    /// An array of objects; none where there is none.
    private static func rows(
        _ name: StaticString, of object: JSONObject, at place: String
    ) throws(ComparisonError) -> [JSONObject] {
        let place = "\(place).\(name)"
        do throws(JSONFieldError) {
            return try object.objects(name) ?? []
        } catch {
            throw failure(error, at: place)
        }
    }

    private static func failure(_ error: JSONFieldError, at place: String) -> ComparisonError {
        ComparisonError(code: .badValue, place: "\(place).\(error.name)", reason: "expected \(error.expected)")
    }
}
