import Foundation
package import StoreTypes

/// One request to the Server API, whatever brought it.
package struct APIRequest: Sendable {
    package var method: String
    /// Below `/inApps/`, without percent signs.
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

    /// The path and query of a URL; the path is what stands behind `/inApps/`.
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

    func values(_ name: String) -> [String] { query.filter { $0.name == name }.map(\.value) }

    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// The body as a JSON object; a null is as good as nothing.
    func document() throws(APIFailure) -> JSONValue {
        guard let value = try? JSONValue(reading: body), case .object(let members) = value else {
            throw APIFailure(4_000_000)
        }
        return .object(members.filter { $0.value != .null })
    }
}

/// One answer of the Server API.
package struct APIAnswer: Sendable {
    package var status: Int
    package var headers: [(name: String, value: String)] = []
    /// Nil for an empty body.
    package var body: JSONValue?

    package init(_ status: Int = 200, headers: [(name: String, value: String)] = [], body: JSONValue? = nil) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
