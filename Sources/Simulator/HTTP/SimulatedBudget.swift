import StoreTypes

/// A smaller rate limit for the Server API, which replaces Apple's until `DELETE /faults`. The token bucket is full
/// at first.
///
/// Example: `{"kind": "budget", "limit": 5, "seconds": 3600, "endpoint": "history", "environment": "production"}`.
struct SimulatedBudget: Sendable {
    let budget: RateLimiter.Budget
    /// `nil` for all endpoints.
    let endpoint: APIEndpoint?
    /// `nil` for both environments.
    let environment: AppStoreEnvironment?

    private static let members: [String: MemberType] = [
        "kind": .text, "limit": .number, "seconds": .number, "endpoint": .text, "environment": .text,
    ]

    /// Returns `nil` if the document is not a valid budget.
    init?(_ document: JSONValue) {
        guard document["kind"]?.text == "budget", let limit = document["limit"]?.integer, limit >= 0,
            document.hasOnly(Self.members)
        else { return nil }
        budget = .init(capacity: limit, seconds: document["seconds"]?.integer ?? 3600)
        switch document["endpoint"]?.text {
        case nil, "serverAPI": endpoint = nil
        case let name?:
            guard let named = APIEndpoint(rawValue: name) else { return nil }
            endpoint = named
        }
        switch document["environment"]?.text?.lowercased() {
        case nil: environment = nil
        case "production": environment = .production
        case "sandbox": environment = .sandbox
        default: return nil
        }
    }
}
