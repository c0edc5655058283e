package import Base
import Foundation

/// A request to the Server API, independent of the transport.
package struct APIRequest: Sendable {
    package var method: String
    /// Components of the path below `/inApps/`, percent-decoded.
    package var path: [String]
    package var query: [(name: String, value: String)]
    package var authorization: String?
    package var body: [UInt8]
    package var environment: AppStoreEnvironment

    package init(
        _ method: String, path: [String], query: [(name: String, value: String)] = [], authorization: String?,
        body: [UInt8] = [], environment: AppStoreEnvironment
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.authorization = authorization
        self.body = body
        self.environment = environment
    }

    /// Creates a request from the path and query of a URL. Returns `nil` if the path does not contain `/inApps/`.
    package init?(
        _ method: String, target: String, authorization: String?, body: [UInt8] = [], environment: AppStoreEnvironment
    ) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let start = parts[0].firstRange(of: "/inApps/") else { return nil }
        let path = parts[0][start.upperBound...].split(separator: "/").map { Self.decoded($0) }
        let query = (parts.count > 1 ? parts[1] : "").split(separator: "&").map { pair in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (name: Self.decoded(sides[0]), value: sides.count > 1 ? Self.decoded(sides[1]) : "")
        }
        self.init(
            method, path: path, query: query, authorization: authorization, body: body, environment: environment)
    }

    private static func decoded(_ text: Substring) -> String {
        let text = text.replacing("+", with: " ")
        return text.removingPercentEncoding ?? String(text)
    }

    /// Returns all values of a query parameter.
    func values(_ name: String) -> [String] { query.filter { $0.name == name }.map(\.value) }

    /// Returns the first value of a query parameter.
    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

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
    package var status: Int
    package var headers: [(name: String, value: String)] = []
    /// `nil` for an empty body.
    package var body: JSONValue?

    package init(_ status: Int = 200, headers: [(name: String, value: String)] = [], body: JSONValue? = nil) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A successful response. Members whose value is `nil` are absent.
    init(_ members: KeyValuePairs<String, JSONValue?>) { self.init(body: .object(members)) }
}
