package import AppStore
package import Ledger
import Rendering
package import StoreTypes

/// Has the App Store send a test notification, and follows it until it is here, or cannot be.
///
/// https://developer.apple.com/documentation/appstoreserverapi/request-a-test-notification
package struct TestNotification: Sendable {
    /// What became of it:
    ///
    ///     { "token", "environment", "notificationUUID", "delivered", "arrived", "sendAttempts": [ {…} ] }
    package struct Report: Sendable {
        package let token: String
        package let environment: AppStoreEnvironment
        /// Nil where Apple has not tried yet, or its text is not authentic.
        package let notificationUUID: String?
        /// Whether Apple's last attempt got a 200.
        package let isDelivered: Bool
        /// Whether it is in the store; nil where there is none.
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

    private static let notYet = ServerAPIErrorNumber(rawValue: 4_040_008)
    private static let options = CallOptions(timeLimit: .seconds(60), maximumCalls: 20)
    /// Between two questions, in seconds: Apple allows one a second.
    private static let pauses = [1, 1, 2, 3, 5]

    private let client: ServerAPIClient
    private let environment: AppStoreEnvironment
    private let store: Store?

    /// - Parameter store: where it arrives; nil where that is not known.
    package init(client: ServerAPIClient, environment: AppStoreEnvironment, store: Store?) {
        self.client = client
        self.environment = environment
        self.store = store
    }

    /// - Parameter timeout: how long to wait for Apple's first attempt.
    package func run(timeout: Duration) async throws -> Report {
        let token = try await client.requestTestNotification(in: environment, Self.options)
        let begin = ContinuousClock.now
        var record: NotificationRecord?
        for number in 0... {
            record = try await status(token)
            if record?.sendAttempts.isEmpty == false { break }
            let pause = Duration.seconds(Self.pauses[min(number, Self.pauses.count - 1)])
            guard begin.duration(to: .now) + pause < timeout else { break }
            try await Task.sleep(for: pause)
        }
        let attempts = record?.sendAttempts ?? []
        let last = attempts.max { ($0.attemptDate?.milliseconds ?? 0) < ($1.attemptDate?.milliseconds ?? 0) }
        let isDelivered = last?.sendAttemptResult == "SUCCESS"
        let uuid = try record?.signedPayload.flatMap { text throws(SignedPayloadError) in
            try client.verified(notification: text, in: environment).notification.payload.notificationUUID
        }
        return Report(
            token: token, environment: environment, notificationUUID: uuid, isDelivered: isDelivered,
            arrived: try await hasArrived(uuid, timeout: isDelivered ? .seconds(3) : .zero), attempts: attempts)
    }

    /// Nil while Apple does not know of it.
    private func status(_ token: String) async throws(ServerAPIError) -> NotificationRecord? {
        do throws(ServerAPIError) {
            return try await client.testNotificationStatus(token, in: environment, Self.options)
        } catch {
            guard error.errorNumber == Self.notYet else { throw error }
            return nil
        }
    }

    private func hasArrived(_ uuid: String?, timeout: Duration) async throws -> Bool? {
        guard let store else { return nil }
        guard let uuid else { return false }
        let begin = ContinuousClock.now
        while try await !store.holdsNotification(uuid) {
            guard begin.duration(to: .now) < timeout else { return false }
            try await Task.sleep(for: .milliseconds(100))
        }
        return true
    }
}
