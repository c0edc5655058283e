import NIOCore
import NIOHTTP1

/// Sends bodies one after another over one connection, which it opens again if it was closed.
struct NotificationSender {
    private var connection: LoopbackConnection?

    /// The outcome of one attempt.
    struct Outcome: Sendable, Hashable {
        let result: SendAttempt.Result
        /// Whether Apple would retry. It does not if the status is neither a success nor an error.
        let isWorthRetrying: Bool
    }

    /// Sends a body and waits for the response.
    mutating func deliver(_ body: [UInt8], to target: NotificationTarget) async -> Outcome {
        if let connection, connection.url.authority != target.url.authority { close() }
        do {
            let open: LoopbackConnection
            if let connection {
                open = connection
            } else {
                open = try await LoopbackConnection.open(to: target.url)
                connection = open
            }
            let reply = try await open.post(body, to: target.url, timeout: target.timeout)
            if !reply.keepsAlive { close() }
            return Self.outcome(of: reply.status)
        } catch {
            let hadConnection = connection != nil
            close()
            return Outcome(result: hadConnection ? Self.result(of: error) : .socketIssue, isWorthRetrying: true)
        }
    }

    /// Closes the connection. Call it before the sender goes out of scope, because it is a structure and cannot close
    /// by itself.
    mutating func close() {
        connection?.close()
        connection = nil
    }

    /// Success and retries by HTTP status:
    /// https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications
    private static func outcome(of status: Int) -> Outcome {
        switch status {
        case 200...206: Outcome(result: .success, isWorthRetrying: false)
        case 400..<600: Outcome(result: .unsuccessfulStatus, isWorthRetrying: true)
        default: Outcome(result: .unsuccessfulStatus, isWorthRetrying: false)
        }
    }

    private static func result(of error: any Error) -> SendAttempt.Result {
        switch error {
        case LoopbackError.timedOut: .timedOut
        case is HTTPParserError: .invalidResponse
        default: .prematureClose
        }
    }
}
