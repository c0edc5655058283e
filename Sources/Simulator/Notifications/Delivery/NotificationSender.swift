import ReceiptBridgeTransport

/// Posts the bodies of notifications, over connections that it keeps.
struct NotificationSender: Sendable {
    struct AttemptResult: Sendable, Hashable {
        let result: SendAttempt.Result
        /// Whether Apple would retry. It does not if the status is neither a success nor an error.
        let isWorthRetrying: Bool
    }

    private let transport: CurlTransport

    init() throws(TransportError) {
        var configuration = CurlConfiguration(
            version: "", proxy: .direct, limits: .init(total: 256, perOrigin: 256, connectingPerOrigin: 256))
        configuration.userAgent = "App-Store/1.0"
        transport = try CurlTransport(configuration)
    }

    func deliver(_ body: [UInt8], to target: NotificationTarget) async -> AttemptResult {
        do throws(TransportError) {
            let request = try HTTPRequest(
                method: .post, url: target.url, headers: ["Content-Type": "application/json; charset=UTF-8"],
                body: body, timeout: target.timeout)
            return Self.outcome(of: try await transport.send(request).status)
        } catch {
            return AttemptResult(result: Self.result(of: error), isWorthRetrying: true)
        }
    }

    func shutDown() async { await transport.shutDown() }

    /// Success and retries by HTTP status:
    /// https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications
    private static func outcome(of status: Int) -> AttemptResult {
        switch status {
        case 200...206: AttemptResult(result: .success, isWorthRetrying: false)
        case 400..<600: AttemptResult(result: .unsuccessfulStatus, isWorthRetrying: true)
        default: AttemptResult(result: .unsuccessfulStatus, isWorthRetrying: false)
        }
    }

    private static func result(of error: TransportError) -> SendAttempt.Result {
        switch error.code {
        case .timedOut: .timedOut
        case .protocolError: .invalidResponse
        case .connectionReset, .emptyReply, .truncated, .responseTooLarge, .cancelled, .shutDown: .prematureClose
        default: .socketIssue
        }
    }
}
