package import ReceiptBridgeBase
import Foundation

/// A request to the Server API, independent of the transport.
package struct APIRequest: Sendable {
    let method: String
    /// Components of the path below `/inApps/`, percent-decoded.
    let path: [String]
    let query: [(name: String, value: String)]
    let authorization: String?
    let body: [UInt8]
    let environment: AppStoreEnvironment

    /// Creates a request from the path and query of a URL. Returns `nil` if the path does not contain `/inApps/`.
    package init?(
        _ method: String, target: String, authorization: String?, body: [UInt8] = [], environment: AppStoreEnvironment
    ) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let start = parts[0].firstRange(of: "/inApps/") else { return nil }
        path = parts[0][start.upperBound...].split(separator: "/").map { Self.decoded($0) }
        query = (parts.count > 1 ? parts[1] : "").split(separator: "&").map { pair in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (name: Self.decoded(sides[0]), value: sides.count > 1 ? Self.decoded(sides[1]) : "")
        }
        (self.method, self.authorization, self.body, self.environment) = (method, authorization, body, environment)
    }

    private static func decoded(_ text: Substring) -> String {
        let text = text.replacing("+", with: " ")
        return text.removingPercentEncoding ?? String(text)
    }

    func values(_ name: String) -> [String] { query.filter { $0.name == name }.map(\.value) }

    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// Parses all values of a parameter. Throws `code` if one of them is not valid.
    func values<Value>(_ name: String, else code: Int64, _ read: (String) -> Value?) throws(APIFailure) -> [Value] {
        let texts = values(name)
        let parsed = texts.compactMap(read)
        guard parsed.count == texts.count else { throw APIFailure(code) }
        return parsed
    }

    /// Parses an optional parameter. Throws `code` if its value is not valid.
    func value<Value>(_ name: String, else code: Int64, _ read: (String) -> Value?) throws(APIFailure) -> Value? {
        guard let text = value(name) else { return nil }
        guard let parsed = read(text) else { throw APIFailure(code) }
        return parsed
    }

    /// Returns the body as a JSON object, without members whose value is null. Throws 4000000 if it is not an object.
    func document() throws(APIFailure) -> JSONValue {
        guard let value = try? JSONValue(reading: body), case .object(let members) = value else {
            throw APIFailure(4_000_000)
        }
        return .object(members.filter { $0.value != .null })
    }
}

/// A response of the Server API.
package struct APIAnswer: Sendable {
    package var status = 200
    package var headers: [(name: String, value: String)] = []
    /// `nil` for an empty body.
    package var body: JSONValue?

}

extension APIAnswer {
    /// A successful response. Members whose value is `nil` are absent.
    init(_ members: KeyValuePairs<String, (any JSONRepresentable)?>) { self.init(body: JSONValue(members)) }
}

/// An error of the Server API with Apple's error code. Its first three digits are the HTTP status: 4040010 has status
/// 404.
struct APIFailure: Error, Sendable, Hashable {
    let code: Int64
    /// Value of `Retry-After`: UNIX time in milliseconds.
    var retryAfter: String?

    init(_ code: Int64, retryAfter: String? = nil) {
        self.code = code
        self.retryAfter = retryAfter
    }

    var answer: APIAnswer {
        APIAnswer(
            status: Int(clamping: code / 10_000), headers: retryAfter.map { [("Retry-After", $0)] } ?? [],
            body: JSONValue(["errorCode": code, "errorMessage": Self.messages[code] ?? "General bad request."]))
    }

    private static let messages: [Int64: String] = [
        4_000_002: "Invalid request app id.",
        4_000_005: "Invalid request revision.",
        4_000_006: "Invalid transaction id.",
        4_000_008: "Invalid original transaction id.",
        4_000_009: "Invalid extend by days value.",
        4_000_010: "Invalid extend reason code.",
        4_000_011: "Invalid request identifier.",
        4_000_012: "The start date is too far back.",
        4_000_013: "The start date is after the end date.",
        4_000_014: "Invalid pagination token.",
        4_000_015: "Invalid start date.",
        4_000_016: "Invalid end date.",
        4_000_017: "The pagination token has expired.",
        4_000_018: "Invalid notification type.",
        4_000_019: "Request either by transaction id or by notification type.",
        4_000_020: "Invalid test notification token.",
        4_000_021: "Invalid sort.",
        4_000_022: "Invalid product type.",
        4_000_023: "Invalid product id.",
        4_000_024: "Invalid subscription group identifier.",
        4_000_025: "Invalid exclude revoked.",
        4_000_026: "Invalid in-app ownership type.",
        4_000_027: "The storefront country code list is empty.",
        4_000_028: "Invalid storefront country code.",
        4_000_030: "Invalid revoked.",
        4_000_031: "Invalid status.",
        4_000_048: "This endpoint does not take an app transaction id.",
        4_000_183: "The app account token is not a UUID.",
        4_000_185: "Family transactions are not supported.",
        4_000_187: "The transaction id is not an original transaction id.",
        4_030_004: "The subscription cannot be extended.",
        4_030_005: "The subscription has had its maximum of extensions.",
        4_030_007: "Family-shared subscriptions cannot be extended.",
        4_040_001: "Account not found.",
        4_040_002: "Account not found. Please try again.",
        4_040_003: "App not found.",
        4_040_004: "App not found. Please try again.",
        4_040_005: "Original transaction id not found.",
        4_040_006: "Original transaction id not found. Please try again.",
        4_040_007: "The server notification URL is missing.",
        4_040_008: "Test notification not found.",
        4_040_009: "Status request not found.",
        4_040_010: "Transaction id not found.",
        4_040_019: "App transaction does not exist.",
        4_290_000: "Rate limit exceeded.",
        5_000_000: "An unknown error occurred.",
        5_000_001: "An unknown error occurred. Please try again.",
    ]
}

extension APIFailure {
    /// 1 to 20 digits, not all of them zero. Throws `code` otherwise, because it depends on the endpoint.
    static func checkIdentifier(_ text: String, code: Int64 = 4_000_006) throws(APIFailure) {
        guard TransactionIdentifier(rawValue: text) != nil else { throw APIFailure(code) }
    }
}
