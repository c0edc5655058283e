package import ReceiptBridgeBase
import Synchronization
package import ReceiptBridgeTransport

/// A client of Apple's verifyReceipt that makes one attempt. Callers choose the environment and decide about retries.
package final class VerifyReceiptClient: Sendable {
    private let transport: any HTTPTransport
    private let endpoints: EnvironmentURLs
    private let maximumResponseBytes: Int
    private let counts: UpstreamMetrics?
    /// Until when Apple wants no requests, by the endpoint that answered 429 with `Retry-After`.
    private let pauses = Mutex<[AppStoreEnvironment: ContinuousClock.Instant]>([:])
    /// The longest pause. A longer one is most likely a mistake, and one request a minute does no harm.
    private static let longestPause = Duration.seconds(60)

    /// Creates a client. Several clients can share a transport.
    package init(
        transport: any HTTPTransport, endpoints: EnvironmentURLs, maximumResponseBytes: Int = 32 << 20,
        counts: UpstreamMetrics? = nil
    ) {
        (self.transport, self.endpoints) = (transport, endpoints)
        (self.maximumResponseBytes, self.counts) = (maximumResponseBytes, counts)
    }

    /// Posts the body unchanged and returns within the timeout. If the task is canceled, returns the outage
    /// `cancelled`. After a 429 with `Retry-After` to a genuine receipt, all requests wait for that time, or are not
    /// sent if it is longer than half of their timeout. `isGenuine` is false if the receipt is not authentic by our own
    /// check.
    package func send(
        body: [UInt8], to environment: AppStoreEnvironment, timeout: Duration, isRetry: Bool = false,
        isGenuine: Bool = true, owner: String = ""
    ) async -> Result<AppleResponse, UpstreamError> {
        guard let url = endpoints[environment] else {
            return .failure(UpstreamError(.noEndpoint, at: "-", "no endpoint for environment \(environment.rawValue)"))
        }
        let start = ContinuousClock.now
        let wait = pauses.withLock { $0[environment] }.map { max(start.duration(to: $0), .zero) } ?? .zero
        guard wait <= timeout / 2 else {
            return .failure(UpstreamError(.rateLimited, at: url.host, "Apple asked for a pause (429)"))
        }
        if wait > .zero { try? await Task.sleep(for: wait) }
        let reply = await post(url, body, timeout - wait, isRetry: isRetry, isGenuine: isGenuine, owner: owner)
        counts?.recordExchange(with: nil, environment, UpstreamOutcome(reply), after: .now - start - wait)
        if isGenuine, case .failure(let failure) = reply, failure.httpStatus == 429, let pause = failure.retryAfter {
            pauses.withLock { $0[environment] = .now + min(pause, Self.longestPause) }
        }
        return reply
    }

    private func post(
        _ url: HTTPURL, _ body: [UInt8], _ timeout: Duration, isRetry: Bool, isGenuine: Bool, owner: String
    ) async -> Result<AppleResponse, UpstreamError> {
        do throws(TransportError) {
            var request = try HTTPRequest(
                method: .post, url: url, headers: ["Content-Type": "application/json"], body: body, timeout: timeout,
                connectTimeout: min(.seconds(5), timeout), maximumResponseBytes: maximumResponseBytes)
            request.isRetry = isRetry
            request.isGenuine = isGenuine
            request.owner = owner
            request.isUsable = Self.isUsable
            return Self.reply(to: try await transport.send(request), from: url.host)
        } catch {
            return .failure(UpstreamError(error))
        }
    }

    /// Maximum size in bytes of a response that is scanned here. Longer ones are scanned only once, in
    /// `reply(to:from:)`.
    private static let maximumScannedBytes = 1_024

    /// Returns whether a 200 response looks like verifyReceipt's, and not like the page of a gateway in front of it.
    ///
    /// A response with a receipt is long, so only its first byte is checked here. A long response that was cut off in
    /// the middle therefore passes, and does not count as a failure of the host.
    private static func isUsable(_ response: HTTPResponse) -> Bool {
        guard response.status == 200 else { return true }
        guard let first = response.body.first(where: { $0 > 0x20 }), first == UInt8(ascii: "{") else { return false }
        guard response.body.count <= maximumScannedBytes else { return true }
        guard let scan = try? VerifyReceiptStatusReader.scan(response.body) else { return false }
        return scan.status != nil && !scan.lacksReceipt
    }

    /// Interprets a response: 200 with a JSON `status`, and with the receipt that this status promises, is usable.
    /// Everything else is an outage.
    static func reply(to response: HTTPResponse, from host: String) -> Result<AppleResponse, UpstreamError> {
        func outage(_ code: UpstreamError.Code, _ reason: String) -> Result<AppleResponse, UpstreamError> {
            .failure(UpstreamError(code, at: host, reason, httpStatus: response.status))
        }
        guard response.status == 200 else {
            return .failure(
                UpstreamError(
                    .httpStatus, at: host, "HTTP status \(response.status)", httpStatus: response.status,
                    retryAfter: response.retryAfter(now: AppStoreClock.system.now())))
        }
        guard !response.body.isEmpty else { return outage(.emptyBody, "empty response with HTTP status 200") }
        do throws(JSONStructureError) {
            let scan = try VerifyReceiptStatusReader.scan(response.body)
            guard let status = scan.status else { return outage(.noStatus, "JSON without a number as status") }
            guard !scan.lacksReceipt else { return outage(.noReceipt, "status \(status) without a receipt") }
            return .success(
                AppleResponse(
                    body: response.body, status: VerifyReceiptStatus(rawValue: status), isRetryable: scan.isRetryable,
                    memory: response.memory))
        } catch {
            return outage(.notJSON, error.description)
        }
    }
}
