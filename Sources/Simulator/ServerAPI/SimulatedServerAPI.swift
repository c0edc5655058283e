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
