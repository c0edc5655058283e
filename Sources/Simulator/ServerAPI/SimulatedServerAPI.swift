import ReceiptBridgeBase
package import ReceiptBridgeCryptography
import Synchronization

/// Serves the App Store Server API for the customers of a simulated App Store in both environments.
package final class SimulatedServerAPI: Sendable {
    package let credentials: SimulatedCredentials
    /// The rate limiter of all endpoints, with Apple's limits by default.
    package let limiter = RateLimiter()
    let issuer: JWSIssuer
    let clock: SimulatedClock
    let jobs = Mutex(ServerAPIJobs())
    let events: EventScheduler
    let outbox: NotificationOutbox
    var customerRegistry: CustomerRegistry { events.customerRegistry }
    private let check: ProviderTokenCheck

    init(
        events: EventScheduler, outbox: NotificationOutbox, issuer: JWSIssuer, credentials: SimulatedCredentials,
        clock: SimulatedClock
    ) throws(CryptographyError) {
        (self.events, self.outbox, self.credentials) = (events, outbox, credentials)
        (self.clock, self.issuer) = (clock, issuer)
        check = try ProviderTokenCheck(credentials, clock: clock)
    }

    /// The token is checked first, then the path and the rate limit, then the parameters.
    package func answer(_ request: APIRequest, fault: ServerAPIFault? = nil) throws(CryptographyError) -> APIAnswer {
        guard check.accepts(request.authorization) else { return APIAnswer(status: 401) }
        guard let (endpoint, values) = APIEndpoint.matching(method: request.method, path: request.path) else {
            return APIAnswer(status: 404)
        }
        if let later = limiter.consume(endpoint, request.environment) {
            return APIFailure(4_290_000, retryAfter: String(later.milliseconds)).answer
        }
        let call = ServerAPICall(request: request, values: values, fault: fault, instant: clock.now)
        do {
            if case .failure(let code, let retryAfter)? = fault { throw APIFailure(code, retryAfter: retryAfter) }
            return try endpoint.row.respond(self, call)
        } catch let failure as APIFailure {
            return failure.answer
        } catch let error as CryptographyError {
            throw error
        } catch {
            return APIFailure(5_000_000).answer
        }
    }
}

/// The faults that only the Server API has.
package enum ServerAPIFault: Sendable, Hashable {
    /// Responds with that error code, and with that `Retry-After` if it is not `nil`.
    case failure(code: Int64, retryAfter: String?)
    /// Returns a history that never ends: the first rows again and again, each time with another revision.
    case endlessPages
    /// Returns `hasMore` with a revision that does not advance.
    case unchangedRevision
    /// Responds with 200 and an empty history.
    case emptyHistory
    /// Returns a page without rows and with `hasMore`.
    case emptyPage
    /// Repeats the first row of the page at its end.
    case repeatedRows
    case wrongBundle
    case badSignature
}

/// A request at its endpoint: the values of the path's parameters, and the fault to inject.
struct ServerAPICall: Sendable {
    let request: APIRequest
    let values: [String]
    let fault: ServerAPIFault?
    /// Time of the request, taken before any data is read that can change concurrently.
    let instant: Timestamp

    var environment: AppStoreEnvironment { request.environment }

    /// The first members of responses about a customer.
    var envelope: [JSONValue.Member] { SimulatedApp.envelope(environment, bundleId: JWSIssuer.bundleId(fault)) }
}

extension SimulatedServerAPI {
    /// Returns the customer that the path names by any of its ids. Throws 4040010 if the id is unknown.
    func customer(_ call: ServerAPICall) throws(APIFailure) -> SimulatedCustomer {
        let id = call.values[0]
        try APIFailure.checkIdentifier(id)
        guard let finding = try find(id, call) else { throw APIFailure(4_040_010) }
        return finding.customer
    }

    /// Returns the owner of an id, or `nil` if the id is unknown. Throws 4040001 if the account was removed.
    private func find(_ id: String, _ call: ServerAPICall) throws(APIFailure) -> CustomerRegistry.Finding? {
        let finding = customerRegistry.find(id, in: call.environment)
        if finding?.customer.isRemoved == true { throw APIFailure(4_040_001) }
        return finding
    }

    /// Returns the transaction that the path names. The id of the app's download is an error here (4000048).
    ///
    /// - Parameter notOriginal: the error if it is not the original transaction, or `nil` to accept any transaction.
    func transaction(
        _ call: ServerAPICall, malformed: Int64 = 4_000_006, unknown: Int64 = 4_040_010, notOriginal: Int64? = nil
    ) throws(APIFailure) -> (customer: SimulatedCustomer, transaction: SimulatedTransaction) {
        let id = call.values[0]
        try APIFailure.checkIdentifier(id, code: malformed)
        guard let finding = try find(id, call) else { throw APIFailure(unknown) }
        guard let transaction = finding.transaction else { throw APIFailure(4_000_048) }
        if let notOriginal, transaction.originalTransactionId != id { throw APIFailure(notOriginal) }
        return (finding.customer, transaction)
    }

    func subscription(
        _ call: ServerAPICall
    ) throws(APIFailure) -> (customer: SimulatedCustomer, transaction: SimulatedTransaction) {
        try transaction(call, malformed: 4_000_008, unknown: 4_040_005, notOriginal: 4_040_005)
    }

    func sign(
        _ transaction: SimulatedTransaction, of customer: SimulatedCustomer, for call: ServerAPICall
    ) throws(CryptographyError) -> String {
        try issuer.sign(.transaction(transaction), of: customer, at: call.instant, call.fault)
    }
}

/// The jobs that callers of the Server API started and can ask about later.
struct ServerAPIJobs: Sendable {
    struct Key: Hashable {
        let name: String
        let environment: AppStoreEnvironment
    }

    private var number: Int64 = 0
    /// Extensions for all subscribers of a product, and when they were complete.
    var extensions: [Key: (summary: SimulatedNotification.ExtensionSummary, date: Timestamp)] = [:]
    /// Indices of test notifications in the log.
    var testNotifications: [Key: Int] = [:]

    mutating func nextNumber() -> Int64 {
        number += 1
        return number
    }
}

/// The endpoints of the App Store Server API. Raw values are the names in faults and in the request log, for example
/// `history`.
///
/// Names with `V1` are the first version of an endpoint that now has a second one.
package enum APIEndpoint: String, Sendable, Hashable, CaseIterable {
    case transactionInfo, history, historyV1, subscriptionStatuses, appTransactionInfo
    case refundHistory, refundHistoryV1, orderLookup
    case extend, massExtend, massExtendStatus
    case notificationHistory, testNotification, testNotificationStatus
    case consumption, consumptionV1, appAccountToken, finish

    typealias Response = (SimulatedServerAPI, ServerAPICall) throws -> APIAnswer

    /// Everything about an endpoint: method; path below `/inApps/` with `{}` for each parameter; requests per second in
    /// production as Apple publishes them, of which the sandbox allows a tenth; response.
    var row: (method: String, path: String, rate: Int64, respond: Response) {
        switch self {
        case .transactionInfo: ("GET", "v1/transactions/{}", 50, { try $0.transactionInfo($1) })
        case .history: ("GET", "v2/history/{}", 50, { try $0.history($1, listsFinished: true) })
        case .historyV1: ("GET", "v1/history/{}", 50, { try $0.history($1, listsFinished: false) })
        case .subscriptionStatuses: ("GET", "v1/subscriptions/{}", 50, { try $0.subscriptionStatuses($1) })
        case .appTransactionInfo: ("GET", "v1/transactions/appTransactions/{}", 50, { try $0.appTransactionInfo($1) })
        case .refundHistory: ("GET", "v2/refund/lookup/{}", 10, { try $0.refundHistory($1) })
        case .refundHistoryV1: ("GET", "v1/refund/lookup/{}", 10, { try $0.refundHistoryV1($1) })
        case .orderLookup: ("GET", "v1/lookup/{}", 10, { try $0.orderLookup($1) })
        case .extend: ("PUT", "v1/subscriptions/extend/{}", 20, { try $0.extend($1) })
        case .massExtend: ("POST", "v1/subscriptions/extend/mass", 1, { try $0.massExtend($1) })
        case .massExtendStatus: ("GET", "v1/subscriptions/extend/mass/{}/{}", 1, { try $0.massExtendStatus($1) })
        case .notificationHistory: ("POST", "v1/notifications/history", 50, { try $0.notificationHistory($1) })
        case .testNotification: ("POST", "v1/notifications/test", 1, { try $0.testNotification($1) })
        case .testNotificationStatus: ("GET", "v1/notifications/test/{}", 1, { try $0.testNotificationStatus($1) })
        case .consumption: ("PUT", "v2/transactions/consumption/{}", 50, { try $0.consumption($1, .second) })
        case .consumptionV1: ("PUT", "v1/transactions/consumption/{}", 50, { try $0.consumption($1, .first) })
        case .appAccountToken: ("PUT", "v1/transactions/{}/appAccountToken", 20, { try $0.setAppAccountToken($1) })
        case .finish: ("POST", "v1/transactions/{}/finish", 50, { try $0.finish($1) })
        }
    }

    /// The endpoint of a path below `/inApps/` with the values of its parameters.
    static func matching(method: String, path: [String]) -> (endpoint: APIEndpoint, values: [String])? {
        for endpoint in allCases where endpoint.row.method == method {
            let components = endpoint.row.path.split(separator: "/")
            guard components.count == path.count, zip(components, path).allSatisfy({ $0 == "{}" || $0 == $1 }) else {
                continue
            }
            return (endpoint, zip(components, path).filter { $0.0 == "{}" }.map(\.1))
        }
        return nil
    }
}

/// Verifies that a caller is the app's owner: `Authorization: Bearer` with a JWT signed by the account's key.
struct ProviderTokenCheck: Sendable {
    private let key: VerifyingKey
    private let credentials: SimulatedCredentials
    private let clock: SimulatedClock

    init(_ credentials: SimulatedCredentials, clock: SimulatedClock) throws(CryptographyError) {
        key = try VerifyingKey(publicKeyInfo: credentials.key.publicKeyInfo.span)
        self.credentials = credentials
        self.clock = clock
    }

    /// ES256 by the account's key, correct claims, and a lifetime of at most an hour.
    func accepts(_ authorization: String?) -> Bool {
        guard let authorization, authorization.hasPrefix("Bearer ") else { return false }
        let parts = authorization.dropFirst(7).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.document(parts[0]), let claims = Self.document(parts[1]),
            header["alg"]?.text == "ES256", header["kid"]?.text == credentials.keyId,
            header["typ"] == nil || header["typ"]?.text == "JWT",
            claims["iss"]?.text == credentials.issuerId, claims["aud"]?.text == "appstoreconnect-v1",
            claims["bid"]?.text == credentials.bundleId,
            // The token may be current according to the simulated clock or to real time, because callers do not know
            // of a fixed clock.
            [Timestamp.now, clock.now].contains(where: { Self.isCurrent(claims, at: $0.seconds) }),
            let signature = Base64.decodeURLSafe(parts[2]), signature.count == 64
        else { return false }
        let encoded = DEREncoder.sequence(
            DEREncoder.integer(magnitude: Array(signature[..<32])),
            DEREncoder.integer(magnitude: Array(signature[32...])))
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        return (try? key.verify(encoded.span, over: signed.span, digest: .sha256)) != nil
    }

    /// At `now`, in seconds. Without `iat`, as from Apple's Python library, the lifetime is counted from now.
    private static func isCurrent(_ claims: JSONValue, at now: Int64) -> Bool {
        guard let expiry = claims["exp"]?.integer, expiry > now else { return false }
        guard let issued = claims["iat"] else { return expiry - now <= 3600 }
        guard let issued = issued.integer else { return false }
        return issued <= now + 60 && expiry - issued <= 3600
    }

    private static func document(_ part: Substring) -> JSONValue? {
        Base64.decodeURLSafe(part).flatMap { try? JSONValue(reading: $0) }
    }
}

/// The credentials of the simulated app's owner in App Store Connect.
package struct SimulatedCredentials: Sendable {
    package let issuerId = SimulatedConfiguration.issuerId
    package let keyId = SimulatedConfiguration.keyId
    package let bundleId = SimulatedApp.first.bundleId
    /// The In-App Purchase key; its ``Cryptography/SigningKey/privateKeyPEM`` is the content of the `.p8` file.
    package let key: SigningKey
}
