import AppStore
import ArgumentParser
import Ledger
import Operations
import StoreTypes

/// The `notifications` command: tests the delivery of App Store Server Notifications and fetches missed ones.
struct NotificationsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications", abstract: "Tests the way of notifications, and fetches those that were missed.",
        subcommands: [Test.self, NotificationHistoryCommand.self])

    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "test",
            abstract: "Has Apple send a test notification, and follows it.",
            discussion: """
                Prints {token, environment, notificationUUID, delivered, arrived, sendAttempts}; arrived says whether it is \
                in the store of the configuration, null where there is none.

                Exit codes: 0 delivered, and where there is a store, arrived; 1 not; 2 usage; 3 stopped by a limit.

                Example:
                  receipt-bridge notifications test --environment sandbox --config bridge.yaml
                """)

        @OptionGroup var options: OperationOptions
        @Option(help: ArgumentHelp("Seconds to wait for Apple's first attempt.", valueName: "seconds"))
        var patience = 60
        @Flag(help: "Says what would be sent, and sends nothing.")
        var dryRun = false

        func validate() throws {
            guard (1...3_600).contains(patience) else { throw ValidationError("--patience: 1 to 3600") }
        }

        func run() async throws {
            try await options.run { context in
                guard !dryRun else { return try context.preview(.requestTestNotification()) }
                let test = TestNotification(
                    client: context.client, environment: context.scope.environment, store: context.store)
                let report = try await test.run(timeout: .seconds(patience))
                Terminal.line(report.line)
                guard report.isDelivered else {
                    let last = report.attempts.last?.sendAttemptResult
                    Terminal.say(last.map { "Apple could not deliver it: \($0)" } ?? "Apple has not tried yet")
                    throw ExitCode.someNotVerified
                }
                guard report.arrived ?? true else {
                    Terminal.say("delivered, but not in this store: another server has the address, or another store")
                    throw ExitCode.someNotVerified
                }
            }
        }
    }
}
