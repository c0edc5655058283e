import ReceiptBridgeAdministration
import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeStorage

/// The `notifications` command: tests the delivery of App Store Server Notifications and fetches missed ones.
struct NotificationsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: "Tests the delivery of notifications, fetches missed ones, and shows stored ones.",
        subcommands: [
            Test.self, NotificationHistoryCommand.self, NotificationListCommand.self, NotificationShowCommand.self,
        ])

    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "test",
            abstract: "Requests a test notification from Apple, and waits for its delivery.",
            discussion: """
                Prints {token, environment, notificationUUID, delivered, arrived, sendAttempts}. arrived tells whether the \
                notification is in the configured store; it is null if no store is configured.

                Exit codes: 0 delivered and, if a store is configured, arrived; 1 not delivered or not arrived; 2 usage; \
                3 stopped by a rate limit or a temporary failure.

                Example:
                  receipt-bridge notifications test --environment sandbox \\
                      --config receipt-bridge.yaml
                """)

        @OptionGroup var options: OperationOptions
        @Option(help: ArgumentHelp("Seconds to wait for Apple's first attempt.", valueName: "seconds"))
        var patience = 60
        @Flag(help: "Print the request without sending it.")
        var dryRun = false

        func validate() throws {
            guard (1...3_600).contains(patience) else { throw ValidationError("--patience: 1 to 3600") }
        }

        func run() async throws {
            try await options.run { context in
                let app = try await context.app()
                guard !dryRun else { return try app.preview(.requestTestNotification()) }
                let test = TestNotification(
                    client: app.client, environment: app.scope.environment, store: context.store?.notifications)
                let report = try await test.run(timeout: .seconds(patience))
                Terminal.line(report.line)
                guard report.isDelivered else {
                    let last = report.attempts.last?.sendAttemptResult
                    Terminal.say(
                        last.map { "Apple could not deliver the notification: \($0)" }
                            ?? "Apple has not tried to deliver the notification yet")
                    throw ExitCode.someNotVerified
                }
                guard report.arrived ?? true else {
                    Terminal.say(
                        "delivered, but not in this store: another server has received it, or the server uses another store"
                    )
                    throw ExitCode.someNotVerified
                }
            }
        }
    }
}
