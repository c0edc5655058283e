import ReceiptBridgeBase
import ReceiptBridgeStorage

/// A flat table of a result: a row for each element of the column of its name, whose members are the columns.
///
/// A row of the result has the transactions of its customer, so a customer with several rows has each of them several
/// times.
package enum FlatTable: String, CaseIterable, Sendable {
    case transactions, subscriptions

    /// A column, whose name is that of the member.
    struct Column: Sendable {
        enum Kind { case text, number, flag }

        let name: String
        var kind = Kind.text
        /// Whether the member is in `renewalInfo`.
        var isRenewal = false
        /// Whether the value is that of the result's column of this name.
        var isResult = false

        /// Names of the members from the element to the value.
        var path: [String] { isRenewal ? ["renewalInfo", name] : [name] }
    }

    /// The columns, in their order. Dates are milliseconds since 1970.
    var columns: [Column] {
        switch self {
        case .transactions: Self.transactionColumns
        case .subscriptions: Self.subscriptionColumns
        }
    }

    private static let transactionColumns: [Column] = [
        Column(name: "id", isResult: true), Column(name: "environment"), Column(name: "bundleId"),
        Column(name: "transactionId"), Column(name: "originalTransactionId"), Column(name: "webOrderLineItemId"),
        Column(name: "productId"), Column(name: "type"), Column(name: "subscriptionGroupIdentifier"),
        Column(name: "inAppOwnershipType"), Column(name: "quantity", kind: .number),
        Column(name: "purchaseDate", kind: .number), Column(name: "originalPurchaseDate", kind: .number),
        Column(name: "expiresDate", kind: .number), Column(name: "revocationDate", kind: .number),
        Column(name: "revocationReason", kind: .number), Column(name: "isUpgraded", kind: .flag),
        Column(name: "transactionReason"), Column(name: "offerType", kind: .number),
        Column(name: "offerDiscountType"), Column(name: "offerIdentifier"), Column(name: "price", kind: .number),
        Column(name: "currency"), Column(name: "storefront"), Column(name: "appAccountToken"),
        Column(name: "appTransactionId"),
    ]

    private static let subscriptionColumns: [Column] = [
        Column(name: "id", isResult: true), Column(name: "environment", isRenewal: true),
        Column(name: "bundleId", isResult: true), Column(name: "subscriptionGroupIdentifier"),
        Column(name: "originalTransactionId"), Column(name: "productId"), Column(name: "status", kind: .number),
        Column(name: "expiresDate", kind: .number), Column(name: "introductoryOfferUsed", kind: .flag),
        Column(name: "autoRenewStatus", kind: .number, isRenewal: true),
        Column(name: "autoRenewProductId", isRenewal: true),
        Column(name: "renewalDate", kind: .number, isRenewal: true),
        Column(name: "renewalPrice", kind: .number, isRenewal: true), Column(name: "currency", isRenewal: true),
        Column(name: "expirationIntent", kind: .number, isRenewal: true),
        Column(name: "isInBillingRetryPeriod", kind: .flag, isRenewal: true),
        Column(name: "gracePeriodExpiresDate", kind: .number, isRenewal: true),
        Column(name: "priceIncreaseStatus", kind: .number, isRenewal: true),
        Column(name: "offerType", kind: .number, isRenewal: true),
        Column(name: "offerIdentifier", isRenewal: true),
    ]
}

// MARK: - Views

extension FlatTable {
    /// The view of a SQLite result. Truth values are 1 and 0.
    var sqliteView: String {
        let values = columns.map { column in
            column.isResult
                ? "results.\(column.name)"
                : "json_extract(element.value, '$.\(column.path.joined(separator: "."))') AS \(column.name)"
        }
        return """
            CREATE VIEW IF NOT EXISTS \(rawValue) AS
            SELECT \(values.joined(separator: ",\n    "))
            FROM results, json_each(results.\(rawValue)) AS element WHERE element.type = 'object'
            """
    }

    /// The view of the results in PostgreSQL. A value of an unexpected type is NULL.
    var postgresqlView: String {
        let values = columns.map { column in
            if column.isResult { return "results.\(column.name)" }
            let path = "'{\(column.path.joined(separator: ","))}'"
            let (text, type) = ("element.value #>> \(path)", "json_typeof(element.value #> \(path))")
            return switch column.kind {
            case .text: "\(text) AS \(column.name)"
            case .number: "CASE \(type) WHEN 'number' THEN (\(text))::numeric::bigint END AS \(column.name)"
            case .flag: "CASE \(type) WHEN 'boolean' THEN (\(text))::boolean END AS \(column.name)"
            }
        }
        return """
            CREATE VIEW \(rawValue) AS
            SELECT results.migration, \(values.joined(separator: ",\n    "))
            FROM results CROSS JOIN LATERAL json_array_elements(results.\(rawValue)::json) AS element (value)
            WHERE json_typeof(element.value) = 'object'
            """
    }
}

// MARK: - Rows

extension FlatTable {
    /// Returns the values of the rows that a row of the result has in this table.
    func rows(of result: ResultRow) -> [[ResultColumn.Value]] {
        guard let api = result.api else { return [] }
        let bytes = self == .transactions ? api.transactions : api.subscriptions
        let span = bytes.span
        var elements: [Range<Int>] = []
        var scanner = JSONScanner()
        try? scanner.scanArray(span) { value in
            if case .container(let range) = value, span[range.lowerBound] == UInt8(ascii: "{") {
                elements.append(range)
            }
        }
        return elements.map { element in
            let members = Self.members(at: element, in: span)
            let renewal =
                if case .container(let range)? = members["renewalInfo"] { Self.members(at: range, in: span) } else {
                    [:] as [String: JSONScanner.Value]
                }
            return columns.map { column in
                if column.isResult { return ResultColumn(rawValue: column.name)?.value(of: result) ?? .null }
                return Self.value(column.kind, (column.isRenewal ? renewal : members)[column.name], in: span)
            }
        }
    }

    /// Returns the members of an object; none of anything else.
    private static func members(at range: Range<Int>, in bytes: Span<UInt8>) -> [String: JSONScanner.Value] {
        var members: [String: JSONScanner.Value] = [:]
        var scanner = JSONScanner(at: range.lowerBound)
        try? scanner.scanObject(bytes) { member in
            if let name = member.name.text(in: bytes) { members[name] = member.value }
        }
        return members
    }

    /// Returns a value, which is null if it has another type.
    private static func value(
        _ kind: Column.Kind, _ value: JSONScanner.Value?, in bytes: Span<UInt8>
    ) -> ResultColumn.Value {
        switch (kind, value) {
        case (.text, .string(let string)?): return .init(string.text(in: bytes))
        case (.number, .scalar(let range)?):
            return JSONString(range: range).text(in: bytes).flatMap { Int64($0) }.map(ResultColumn.Value.number)
                ?? .null
        case (.flag, .scalar(let range)?):
            return JSONString(range: range).text(in: bytes).flatMap { Bool($0) }.map(ResultColumn.Value.flag) ?? .null
        default: return .null
        }
    }
}
