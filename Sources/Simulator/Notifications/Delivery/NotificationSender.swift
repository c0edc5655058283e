import NIOCore
import NIOHTTP1

/// Carries bodies one after another, over one connection as long as it lasts.
struct NotificationSender {
    private var connection: LoopbackConnection?

    /// What became of one attempt.
    struct Outcome: Sendable, Hashable {
        let result: SendAttempt.Result
        /// False where Apple would not try again: a status that is neither a success nor an error.
        let isWorthRetrying: Bool
    }

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

    /// Before the last copy goes out of use, or the connection stays.
    mutating func close() {
        connection?.close()
        connection = nil
    }

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
