import AppStore
import JSONReading

extension ComparedAnswer {
    /// Recorded answers of the App Store Server API whose rows are decoded objects: nobody vouches for them.
    ///
    /// - Parameters:
    ///   - history: a HistoryResponse, `signedTransactions` holding objects.
    ///   - statuses: a StatusResponse, `signedTransactionInfo` and `signedRenewalInfo` holding objects.
    ///
    /// https://developer.apple.com/documentation/appstoreserverapi/historyresponse
    /// https://developer.apple.com/documentation/appstoreserverapi/statusresponse
    package init(history: [UInt8]?, statuses: [UInt8]?) throws(ComparisonError) {
        guard history != nil || statuses != nil else {
            throw ComparisonError(code: .missing, place: "serverAPI", reason: "neither history nor statuses")
        }
        self.init(form: .records)
        if let history { try read(history: history) }
        if let statuses { try read(statuses: statuses) }
    }

    private mutating func read(history bytes: [UInt8]) throws(ComparisonError) {
        let place = "history"
        let object = try Self.object(bytes, at: place)
        guard object.has("signedTransactions") else {
            throw ComparisonError(code: .notAnAnswer, place: place, reason: "there is no signedTransactions")
        }
        try readEnvelope(object, at: place)
        let rows = try Self.rows("signedTransactions", of: object, at: place)
        latest = []
        for (index, row) in rows.enumerated() {
            latest?.append(ComparedRow(try Self.payload(row, at: "\(place).signedTransactions[\(index)]")))
        }
    }

    private mutating func read(statuses bytes: [UInt8]) throws(ComparisonError) {
        let place = "statuses"
        let object = try Self.object(bytes, at: place)
        guard object.has("data") else {
            throw ComparisonError(code: .notAnAnswer, place: place, reason: "there is no data")
        }
        try readEnvelope(object, at: place)
        renewals = []
        for group in try Self.rows("data", of: object, at: place) {
            for item in try Self.rows("lastTransactions", of: group, at: "\(place).data") {
                try readSubscription(item, at: "\(place).data.lastTransactions")
                try Self.check(rows: statusesCount, at: place)
            }
        }
    }

    private var statusesCount: Int { max(renewals?.count ?? 0, statuses.count) }

    private mutating func readSubscription(_ item: JSONObject, at place: String) throws(ComparisonError) {
        let renewal: RenewalPayload?
        do throws(JSONFieldError) {
            if let id = try item.text("originalTransactionId"), let status = try item.integer("status") {
                statuses[id] = status
            }
            renewal = try item.object("signedRenewalInfo").map { object throws(JSONFieldError) in
                try RenewalPayload(object)
            }
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
        if let texts = try? object.texts(name), !texts.isEmpty {
            throw ComparisonError(code: .signedRow, place: place, reason: "a signed row, which must be verified first")
        }
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
