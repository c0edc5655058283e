import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import Synchronization
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

/// Values shared by several suites: one test PKI, because generating its keys is slow.
enum Shared {
    static var pki: TestPKI { get throws { try SharedSimulator.pki } }
    /// A tree with Apple's names below another root.
    static var foreign: TestPKI { get throws { try SharedSimulator.foreign } }

    /// 2026-11-21T12:00:00Z.
    static let noon = Timestamp(seconds: 1_795_262_400)

    /// A verifier that trusts only the root of the test PKI.
    static func verifier(_ pki: TestPKI? = nil) throws -> SignedPayloadVerifier {
        let tree = if let pki { pki } else { try Self.pki }
        let encoding = tree.jwsRoot.certificate
        let root = try Certificate(der: encoding.span)
        return SignedPayloadVerifier(trust: try TrustStore(anchors: TrustAnchors(roots: [root], intermediates: [])))
    }
}

/// The claims of a transaction, as in Apple's payloads.
func transaction(
    _ id: String, original: String? = nil, bundleId: String? = "com.example.app", environment: String = "Production",
    type: String = "Auto-Renewable Subscription", changing extra: [JSONValue.Member] = []
) -> JSONValue {
    var members: [JSONValue.Member] = [
        .init("transactionId", .string(id)), .init("originalTransactionId", .string(original ?? id)),
        .init("type", .string(type)), .init("environment", .string(environment)),
        .init("signedDate", .number(Shared.noon.milliseconds)),
    ]
    if let bundleId { members.append(.init("bundleId", .string(bundleId))) }
    return .object(members + extra)
}

/// The claims of a renewal.
func renewal(_ original: String, environment: String = "Production") -> JSONValue {
    .object([
        "originalTransactionId": .string(original), "autoRenewStatus": .number(1), "environment": .string(environment),
        "signedDate": .number(Shared.noon.milliseconds),
    ])
}

/// Responses of the Server API.
extension Reply {
    static func history(
        _ rows: [JSONValue], revision: String = "r1", hasMore: Bool = false, bundleId: String = "com.example.app",
        environment: String = "Production"
    ) throws -> Reply {
        let signed = try rows.map { JSONValue.string(try Shared.pki.jwsSigner.jws(payload: $0)) }
        return object([
            "revision": .string(revision), "hasMore": .bool(hasMore), "bundleId": .string(bundleId),
            "appAppleId": environment == "Production" ? .number(1_234_567_890) : nil,
            "environment": .string(environment), "signedTransactions": .array(signed),
        ])
    }

    static func transactionInfo(_ row: JSONValue) throws -> Reply {
        object(["signedTransactionInfo": .string(try Shared.pki.jwsSigner.jws(payload: row))])
    }

    static func statuses(_ originals: [String], environment: String = "Production") throws -> Reply {
        try statuses(of: originals.map { transaction($0, environment: environment) }, environment: environment)
    }

    /// One subscription for each of these transactions.
    static func statuses(
        of transactions: [JSONValue], _ status: Int64 = 1, environment: String = "Production"
    ) throws -> Reply {
        let items = try transactions.map { transaction in
            let original = transaction["originalTransactionId"]?.text ?? ""
            return JSONValue.object([
                "originalTransactionId": .string(original), "status": .number(status),
                "signedTransactionInfo": .string(try Shared.pki.jwsSigner.jws(payload: transaction)),
                "signedRenewalInfo": .string(
                    try Shared.pki.jwsSigner.jws(payload: renewal(original, environment: environment))),
            ])
        }
        let group = JSONValue.object([
            "subscriptionGroupIdentifier": .string("20001"), "lastTransactions": .array(items),
        ])
        return object([
            "environment": .string(environment), "bundleId": .string("com.example.app"),
            "data": .array(items.isEmpty ? [] : [group]),
        ])
    }

    static func error(_ number: Int64, status: Int, headers: [String] = []) -> Reply {
        .respond(
            status: status, headers: headers,
            body: Array("{\"errorCode\":\(number),\"errorMessage\":\"No.\"}".utf8))
    }

    /// The Server API does not know the id.
    static let unknown = error(4_040_010, status: 404)
    static let unauthorized = Reply.respond(status: 401, body: Array("Unauthenticated\n\nRequest ID: X".utf8))

    private static func object(_ members: KeyValuePairs<String, JSONValue?>) -> Reply {
        .respond(headers: ["Content-Type: application/json"], body: JSONValue.object(members).bytes)
    }
}

/// A scripted Server API with a client for it. Production and sandbox are two base paths of one server.
final class ScriptedServerAPI: Sendable {
    let client: ServerAPIClient
    private let log: Log

    private final class Log: Sendable {
        let lines = Mutex<[String]>([])
    }

    /// The connection of the client. The server stops when the client is released.
    private final class Connection: HTTPTransport {
        let server: TestServer
        private let curl: CurlTransport

        init(_ server: TestServer) throws {
            self.server = server
            curl = try CurlTransport(CurlConfiguration(version: "0-test"))
        }

        deinit { server.stop() }

        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse { try await curl.send(request) }

        func shutDown(grace: Duration) async { await curl.shutDown(grace: grace) }
    }

    init(
        budget: ServerAPIBudget = ServerAPIBudget(), retry: RetryPolicy = RetryPolicy(baseDelay: .milliseconds(1)),
        clock: AppStoreClock = .system, counts: UpstreamMetrics? = nil,
        _ answer: @escaping @Sendable (_ path: String, _ count: Int) throws -> Reply
    ) throws {
        let log = Log()
        self.log = log
        let server = try TestServer { request in
            let line = request.head[0].split(separator: " ").prefix(2).joined(separator: " ")
            let count = log.lines.withLock { lines -> Int in
                lines.append(request.body.isEmpty ? line : "\(line) \(String(decoding: request.body, as: UTF8.self))")
                return lines.count
            }
            return (try? answer(request.path, count)) ?? .hangUp
        }
        client = ServerAPIClient(
            account: ServerAPIAccount(
                issuerId: "57246542-96fe-1a63-e053-0824d011072a", keyId: "2X9R4HXF34", bundleId: "com.example.app",
                privateKey: .text(Redacted(try Shared.pki.jwsLeaf.key.privateKeyPEM))),
            parts: ServerAPIClient.Dependencies(
                transport: try Connection(server),
                hosts: try EnvironmentURLs(
                    productionBase: server.url("/production"), sandboxBase: server.url("/sandbox/")),
                verifier: try Shared.verifier(), retry: retry, clock: clock, counts: counts),
            budget: budget)
    }

    /// - Parameter answers: responses by a part of the path, of which the first one counts. By default the id is
    /// unknown.
    convenience init(_ answers: KeyValuePairs<String, Reply>, counts: UpstreamMetrics? = nil) throws {
        let answers = answers.map { ($0.key, $0.value) }
        try self.init(counts: counts) { path, _ in
            answers.first { $0.0.isEmpty || path.contains($0.0) }?.1 ?? .unknown
        }
    }

    /// The method, path and body of every request so far.
    var requests: [String] { log.lines.withLock { $0 } }

    /// Options with a time limit that is not over either if many tests run at once.
    static let patient = CallOptions(timeLimit: .seconds(60))

    func records(
        _ ids: [String] = ["100"], environment: AppStoreEnvironment? = nil, _ options: CallOptions = patient
    ) async throws -> CustomerRecords {
        let keys = CustomerIdentifiers(originalTransactionIds: ids, transactionIds: [])
        return try await client.records(for: keys, bundleId: "com.example.app", environment: environment, options)
    }

    /// Returns the error of a lookup, or `nil` if it succeeds.
    func failure(
        _ ids: [String] = ["100"], environment: AppStoreEnvironment? = nil, _ options: CallOptions = patient
    ) async -> UpstreamError? {
        do {
            _ = try await records(ids, environment: environment, options)
            return nil
        } catch {
            return error as? UpstreamError
        }
    }
}

/// A clock that advances only by `advance` and by sleeping.
final class ManualClock: Sendable {
    private let elapsed = Mutex(Duration.zero)

    var uptime: Duration { elapsed.withLock { $0 } }

    func advance(_ duration: Duration) { elapsed.withLock { $0 += duration } }

    var clock: AppStoreClock {
        AppStoreClock(
            now: { Shared.noon.advanced(by: .milliseconds(Int64(self.uptime / .milliseconds(1)))) },
            uptime: { self.uptime },
            sleep: { self.advance($0) })
    }
}
