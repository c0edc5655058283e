package import StoreTypes
import Synchronization

/// Something that goes wrong with the simulated App Store, because a test asked for it.
package struct SimulatedFault: Sendable, Hashable {
    /// What happens instead of the answer, or before it.
    package enum Kind: Sendable, Hashable {
        /// That HTTP status with an empty body.
        case status(Int)
        /// 200 with a web page.
        case html
        /// 200 with a body of the caller's choice.
        case body(String)
        /// The answer comes late.
        case delay
        /// The connection is torn down without an answer.
        case reset
        /// The right head, half of the body, then the connection closes.
        case truncate
        /// 200 with nothing but that verifyReceipt status.
        case verdict(Int64)
        /// Of the Server API only.
        case serverAPI(ServerAPIFault)
    }

    /// `verifyReceipt`, the name of an ``APIEndpoint``, or `serverAPI` for all of those.
    package var endpoint: String
    /// Nil for both.
    package var environment: AppStoreEnvironment?
    package var kind: Kind
    /// How many requests it hits; nil until it is deleted.
    package var times: Int?
    package var milliseconds: Int64

    package init(
        _ kind: Kind, endpoint: String = "verifyReceipt", environment: AppStoreEnvironment? = nil, times: Int? = nil,
        milliseconds: Int64 = 0
    ) {
        self.kind = kind
        self.endpoint = endpoint
        self.environment = environment
        self.times = times
        self.milliseconds = milliseconds
    }

    /// From the body of `POST /faults`; nil when it is not understood.
    ///
    /// `{"endpoint": "verifyReceipt", "environment": "production" | "sandbox" | null, "kind": "status" | "html" | "body"
    /// | "delay" | "reset" | "truncate" | "status21002" …, "status": 503, "body": "…", "times": 1, "milliseconds": 500}`;
    /// for the Server API also `"kind": "error"` with `"errorCode": 4040010` and `"retryAfter": "…"`, and
    /// `"endlessPages" | "unchangedRevision" | "emptyHistory" | "emptyPage" | "repeatedRows" | "wrongBundle" |
    /// "badSignature"`.
    ///
    /// A member that the kind does not have, or of another type, is not understood either: a `times` that was overlooked
    /// would be a fault without end.
    package init?(_ document: JSONValue) {
        guard let name = document["kind"]?.text, document.hasOnly(Self.members(ofKind: name)) else { return nil }
        switch name {
        case "status": kind = .status(Int(clamping: document["status"]?.integer ?? 503))
        case "html": kind = .html
        case "body": kind = .body(document["body"]?.text ?? "")
        case "delay": kind = .delay
        case "reset": kind = .reset
        case "truncate": kind = .truncate
        case "error":
            guard let code = document["errorCode"]?.integer, (4_000_000..<6_000_000).contains(code) else { return nil }
            kind = .serverAPI(.failure(code: code, retryAfter: document["retryAfter"]?.text))
        case "endlessPages": kind = .serverAPI(.endlessPages)
        case "unchangedRevision": kind = .serverAPI(.unchangedRevision)
        case "emptyHistory": kind = .serverAPI(.emptyHistory)
        case "emptyPage": kind = .serverAPI(.emptyPage)
        case "repeatedRows": kind = .serverAPI(.repeatedRows)
        case "wrongBundle": kind = .serverAPI(.wrongBundle)
        case "badSignature": kind = .serverAPI(.badSignature)
        default:
            guard name.hasPrefix("status"), let number = Int64(name.dropFirst(6)) else { return nil }
            kind = .verdict(number)
        }
        switch document["environment"] {
        case nil, .null?: environment = nil
        case .string(let name)? where name.lowercased() == "production": environment = .production
        case .string(let name)? where name.lowercased() == "sandbox": environment = .sandbox
        default: return nil
        }
        if case .serverAPI = kind {
            endpoint = document["endpoint"]?.text ?? "serverAPI"
        } else {
            endpoint = document["endpoint"]?.text ?? "verifyReceipt"
        }
        guard ["verifyReceipt", "serverAPI"].contains(endpoint) || APIEndpoint(rawValue: endpoint) != nil else {
            return nil
        }
        times = document["times"].flatMap(\.integer).map { Int(clamping: $0) }
        guard times.map({ $0 > 0 }) ?? true else { return nil }
        milliseconds = min(max(document["milliseconds"]?.integer ?? 0, 0), 600_000)
    }
}

extension SimulatedFault {
    private static func members(ofKind kind: String) -> [String: MemberType] {
        let all: [String: MemberType] = [
            "kind": .text, "endpoint": .text, "environment": .text, "times": .number, "milliseconds": .number,
        ]
        let own: [String: [String: MemberType]] = [
            "status": ["status": .number], "body": ["body": .text],
            "error": ["errorCode": .number, "retryAfter": .text],
        ]
        return all.merging(own[kind] ?? [:]) { first, _ in first }
    }
}

/// What a member of a request may be; null stands for an absent one.
enum MemberType {
    case text, number
}

extension JSONValue {
    /// Whether this is an object with these members at most, each once and of its type.
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

/// The faults that are wanted now, first come first served.
package final class FaultRegistry: Sendable {
    private let faults = Mutex<[SimulatedFault]>([])

    package init() {}

    package func add(_ fault: SimulatedFault) {
        faults.withLock { $0.append(fault) }
    }

    package func removeAll() {
        faults.withLock { $0.removeAll() }
    }

    /// The first one that is meant for this request; one hit fewer is left of it.
    ///
    /// `group` is another name that the endpoint goes by.
    package func consume(endpoint: String, group: String? = nil, environment: AppStoreEnvironment) -> SimulatedFault? {
        faults.withLock { list in
            let place = list.firstIndex {
                ($0.endpoint == endpoint || $0.endpoint == group)
                    && ($0.environment == nil || $0.environment == environment)
                    && ($0.times ?? 1) > 0
            }
            guard let place else { return nil }
            let fault = list[place]
            if let times = fault.times {
                if times > 1 { list[place].times = times - 1 } else { list.remove(at: place) }
            }
            return fault
        }
    }
}
