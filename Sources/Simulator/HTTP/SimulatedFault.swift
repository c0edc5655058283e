package import ReceiptBridgeBase
import Synchronization

/// A fault that a test injects into the simulated App Store.
package struct SimulatedFault: Sendable, Hashable {
    /// The kinds of faults: what happens before the response or instead of it.
    package enum Kind: Sendable, Hashable {
        /// Responds with that HTTP status and an empty body.
        case status(Int)
        /// Responds with 200 and a web page.
        case html
        /// Responds with 200 and that body.
        case body(String)
        case delay
        /// Closes the connection without a response.
        case reset
        /// Sends the correct head and half of the body, then closes the connection.
        case truncate
        /// Responds with 200 and nothing but that verifyReceipt status.
        case verdict(Int64)
        case serverAPI(ServerAPIFault)
    }

    /// `verifyReceipt`, the name of an ``APIEndpoint``, or `serverAPI` for all of those.
    package var endpoint: String
    /// `nil` for both environments.
    package var environment: AppStoreEnvironment?
    package var kind: Kind
    /// Number of requests that the fault still applies to, or `nil` if it applies until it is deleted.
    package var times: Int?
    /// Delay before the response in milliseconds, 0 to 600,000.
    package var milliseconds: Int64

    package init(
        _ kind: Kind, endpoint: String = "verifyReceipt", environment: AppStoreEnvironment? = nil, times: Int? = nil,
        milliseconds: Int64 = 0
    ) {
        (self.kind, self.endpoint, self.environment) = (kind, endpoint, environment)
        (self.times, self.milliseconds) = (times, milliseconds)
    }

    /// Reads the body of `POST /faults`. Returns `nil` if it is not valid; the response is then 400.
    ///
    ///     {"endpoint": "verifyReceipt", "environment": "production" | "sandbox" | null,
    ///      "kind": "status" | "html" | "body" | "delay" | "reset" | "truncate" | "status21002" …,
    ///      "status": 503, "body": "…", "times": 1, "milliseconds": 500}
    ///
    /// The Server API also has `"kind": "error"` with `"errorCode": 4040010` and `"retryAfter": "…"`, and
    /// `"endlessPages" | "unchangedRevision" | "emptyHistory" | "emptyPage" | "repeatedRows" | "wrongBundle" |
    /// "badSignature"`.
    ///
    /// A member that the kind does not have, or whose value has another type, is an error too, because an ignored
    /// `times` would make the fault permanent.
    package init?(_ document: JSONValue) {
        guard let name = document["kind"]?.text, document.hasOnly(Self.members(ofKind: name)) else { return nil }
        switch name {
        case "status": kind = .status(Int(clamping: document["status"]?.integer ?? 503))
        case "body": kind = .body(document["body"]?.text ?? "")
        case "error":
            guard let code = document["errorCode"]?.integer, (4_000_000..<6_000_000).contains(code) else { return nil }
            kind = .serverAPI(.failure(code: code, retryAfter: document["retryAfter"]?.text))
        default:
            let verdict = name.hasPrefix("status") ? Int64(name.dropFirst(6)).map(Kind.verdict) : nil
            guard let named = Self.kinds[name] ?? verdict else { return nil }
            kind = named
        }
        guard let environment = document.environment else { return nil }
        self.environment = environment
        let isOfServerAPI = if case .serverAPI = kind { true } else { false }
        endpoint = document["endpoint"]?.text ?? (isOfServerAPI ? "serverAPI" : "verifyReceipt")
        guard ["verifyReceipt", "serverAPI"].contains(endpoint) || APIEndpoint(rawValue: endpoint) != nil else {
            return nil
        }
        times = document["times"].flatMap(\.integer).map { Int(clamping: $0) }
        guard times.map({ $0 > 0 }) ?? true else { return nil }
        milliseconds = min(max(document["milliseconds"]?.integer ?? 0, 0), 600_000)
    }
}

extension SimulatedFault {
    private static let kinds: [String: Kind] = [
        "html": .html, "delay": .delay, "reset": .reset, "truncate": .truncate,
        "endlessPages": .serverAPI(.endlessPages), "unchangedRevision": .serverAPI(.unchangedRevision),
        "emptyHistory": .serverAPI(.emptyHistory), "emptyPage": .serverAPI(.emptyPage),
        "repeatedRows": .serverAPI(.repeatedRows), "wrongBundle": .serverAPI(.wrongBundle),
        "badSignature": .serverAPI(.badSignature),
    ]

    private static func members(ofKind kind: String) -> [String: MemberType] {
        let own: [String: [String: MemberType]] = [
            "status": ["status": .number], "body": ["body": .text],
            "error": ["errorCode": .number, "retryAfter": .text],
        ]
        return [
            "kind": .text, "endpoint": .text, "environment": .text, "times": .number, "milliseconds": .number,
        ].merging(own[kind] ?? [:]) { first, _ in first }
    }
}

/// The type of a member's value. `null` is allowed for every type and means that the member is absent.
enum MemberType {
    case text, number
}

extension JSONValue {
    /// Value of the member `environment`, in upper or lower case: `.some(nil)` if it is absent and means both, `nil` if
    /// no environment has this name.
    var environment: AppStoreEnvironment?? {
        switch self["environment"]?.text?.lowercased() {
        case nil: .some(nil)
        case "production": .production
        case "sandbox": .sandbox
        default: nil
        }
    }

    /// Has no members but these, each at most once and with a value of its type.
    func hasOnly(_ types: [String: MemberType]) -> Bool {
        guard case .object(let members) = self, Set(members.map(\.key)).count == members.count else { return false }
        return members.allSatisfy { member in
            switch (types[member.key], member.value) {
            case (.text, .string), (.number, .number), (.text, .null), (.number, .null): true
            default: false
            }
        }
    }
}

/// The list of active faults. If several match a request, the first one applies.
package final class FaultRegistry: Sendable {
    private let faults = Mutex<[SimulatedFault]>([])

    package func add(_ fault: SimulatedFault) { faults.withLock { $0.append(fault) } }

    package func removeAll() { faults.withLock { $0.removeAll() } }

    /// Returns the first fault that matches the request, and subtracts the request from its ``SimulatedFault/times``.
    ///
    /// - Parameter group: another name for the endpoint, for example `serverAPI` for `history`.
    package func consume(endpoint: String, group: String? = nil, environment: AppStoreEnvironment) -> SimulatedFault? {
        faults.withLock { list in
            let index = list.firstIndex {
                ($0.endpoint == endpoint || $0.endpoint == group)
                    && ($0.environment == nil || $0.environment == environment)
                    && ($0.times ?? 1) > 0
            }
            guard let index else { return nil }
            let fault = list[index]
            if let times = fault.times {
                if times > 1 { list[index].times = times - 1 } else { list.remove(at: index) }
            }
            return fault
        }
    }
}

extension RateLimiter {
    /// Sets a smaller rate limit, which replaces Apple's until `DELETE /faults`. The token bucket is full at first.
    /// Example: `{"kind": "budget", "limit": 5, "seconds": 3600, "endpoint": "history", "environment": "production"}`.
    /// Without an endpoint it applies to all of them, and without an environment to both. Returns whether the document
    /// is a valid budget.
    func set(_ document: JSONValue) -> Bool {
        let members: [String: MemberType] = [
            "kind": .text, "limit": .number, "seconds": .number, "endpoint": .text, "environment": .text,
        ]
        let name = document["endpoint"]?.text ?? "serverAPI"
        guard document["kind"]?.text == "budget", document.hasOnly(members), let limit = document["limit"]?.integer,
            limit >= 0, let environment = document.environment,
            name == "serverAPI" || APIEndpoint(rawValue: name) != nil
        else { return false }
        let budget = Budget(capacity: limit, seconds: document["seconds"]?.integer ?? 3600)
        set(budget, for: APIEndpoint(rawValue: name), in: environment)
        return true
    }
}
