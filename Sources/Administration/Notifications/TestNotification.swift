package import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase
import ReceiptBridgeCore
package import ReceiptBridgeStorage

/// Requests a test notification from the App Store and waits for its delivery.
///
/// https://developer.apple.com/documentation/appstoreserverapi/request-a-test-notification
package struct TestNotification: Sendable {
    /// The result, and its line of output:
    ///
    ///     { "token", "environment", "notificationUUID", "delivered", "arrived", "sendAttempts": [ {…} ] }
    package struct Report: Sendable {
        package let token: String
        package let environment: AppStoreEnvironment
        /// `nil` if Apple has not tried to deliver it yet, or if the notification is not authentic.
        package let notificationUUID: String?
        /// Whether Apple's last attempt got HTTP 200.
        package let isDelivered: Bool
        /// Whether the notification is in the store; `nil` if there is no store.
        package let arrived: Bool?
        package let attempts: [SendAttempt]

        package var line: [UInt8] {
            JSONWriter.object {
                $0.member("token", token)
                $0.member("environment", environment.rawValue)
                $0.member("notificationUUID", notificationUUID)
                $0.member("delivered", isDelivered)
                $0.member("arrived", arrived)
                $0.member("sendAttempts", attempts)
            }
        }
    }

    /// Apple's error for a test notification that has not been sent yet.
    private static let notSentYet = ServerAPIErrorNumber(rawValue: 4_040_008)
    private static let options = CallOptions(timeLimit: .seconds(60), maximumCalls: 20)
    /// Pauses between two status requests in seconds; the last one repeats. Apple allows one request per second.
    private static let pauses = [1, 1, 2, 3, 5]
    private static let arrival = Duration.seconds(3).atTestSpeed(atLeast: .milliseconds(500))

    private let client: ServerAPIClient
    private let environment: AppStoreEnvironment
    private let store: (any NotificationStore)?

    /// - Parameter store: The store that receives the notification; `nil` if it is unknown.
    package init(client: ServerAPIClient, environment: AppStoreEnvironment, store: (any NotificationStore)?) {
        self.client = client
        self.environment = environment
        self.store = store
    }

    /// - Parameter timeout: Longest time to wait for Apple's first delivery attempt.
    package func run(timeout: Duration) async throws -> Report {
        let token = try await client.requestTestNotification(in: environment, Self.options)
        let start = ContinuousClock.now
        var record: NotificationRecord?
        for attempt in 0... {
            record = try await status(token)
            if record?.sendAttempts.isEmpty == false { break }
            let pause = Duration.seconds(Self.pauses[min(attempt, Self.pauses.count - 1)]).atTestSpeed()
            guard start.duration(to: .now) + pause < timeout else { break }
            try await Task.sleep(for: pause)
        }
        let attempts = record?.sendAttempts ?? []
        let last = attempts.max { ($0.attemptDate?.milliseconds ?? 0) < ($1.attemptDate?.milliseconds ?? 0) }
        // https://developer.apple.com/documentation/appstoreserverapi/sendattemptresult
        let isDelivered = last?.sendAttemptResult == "SUCCESS"
        let uuid = try record?.signedPayload.flatMap { text throws(SignedPayloadError) in
            try client.verified(notification: text, in: environment).notification.payload.notificationUUID
        }
        return Report(
            token: token, environment: environment, notificationUUID: uuid, isDelivered: isDelivered,
            arrived: try await hasArrived(uuid, timeout: isDelivered ? Self.arrival : .zero), attempts: attempts)
    }

    /// Returns the status; `nil` if Apple has no record of the notification yet.
    private func status(_ token: String) async throws(UpstreamError) -> NotificationRecord? {
        do throws(UpstreamError) {
            return try await client.testNotificationStatus(token, in: environment, Self.options)
        } catch {
            guard error.errorNumber == Self.notSentYet else { throw error }
            return nil
        }
    }

    private func hasArrived(_ uuid: String?, timeout: Duration) async throws -> Bool? {
        guard let store else { return nil }
        guard let uuid else { return false }
        let start = ContinuousClock.now
        while try await !store.holdsNotification(uuid) {
            guard start.duration(to: .now) < timeout else { return false }
            try await Task.sleep(for: .milliseconds(100))
        }
        return true
    }
}
