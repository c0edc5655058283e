import ReceiptBridgeAdministration
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeCore
import ReceiptBridgeStorage
import ReceiptBridgeAppStore

/// The `notifications list` command: lists stored notifications.
struct NotificationListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Prints one line of JSON per stored notification, in the order of arrival.",
        discussion: """
            Only reads the store. A server may be running.

            Example:
              receipt-bridge notifications list --type REFUND --since 2026-11-21
            """)

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @OptionGroup var output: JSONOption
    @Option(help: ArgumentHelp("Only notifications of this app.", valueName: "bundle-id"))
    var bundleId: String?
    @Option(help: "Only notifications of this environment.")
    var environment: EnvironmentName?
    @Option(help: ArgumentHelp("Only notifications of this type, for example DID_RENEW.", valueName: "type"))
    var type: String?
    @Option(
        help: ArgumentHelp(
            "Only notifications received since this instant, for example 2026-11-21 or 2026-11-21T12:00:00Z.",
            valueName: "instant"))
    var since: Instant?
    @Option(
        help: ArgumentHelp(
            "Only notifications about the customer with this transaction or original transaction id.",
            valueName: "transaction-id"))
    var customer: String?
    @Option(help: ArgumentHelp("Print at most this many.", valueName: "notifications"))
    var limit: RowCount?

    func validate() throws {
        try since?.check("--since")
        guard customer.map({ TransactionIdentifier(rawValue: $0) != nil }) ?? true else {
            throw ValidationError("--customer: 1 to 20 digits, not all of them 0")
        }
        try limit?.check("--limit")
    }

    func run() async throws {
        let settings = try? configuration.settings()
        let unknown = try await configuration.withStore { store throws(StorageError) -> InvalidOperation? in
            if let unknown = try await settings.map(AppRegistry.init(settings:))?.unknown(bundleId, in: store) {
                return unknown
            }
            var filter = NotificationFilter()
            filter.bundleId = bundleId.flatMap(BundleIdentifier.init(rawValue:))
            filter.environment = environment?.environment
            filter.type = type
            filter.since = since?.timestamp
            if let id = customer.flatMap(TransactionIdentifier.init(rawValue:)) {
                let apps = [filter.bundleId].compactMap(\.self)
                filter.purchases = try await purchases(
                    of: id, apps.isEmpty ? settings?.apps.compactMap(\.bundleId) ?? [] : apps, store)
            }
            let count = try await StoredList.print(\.id, limit: limit?.value ?? .max) {
                (last, limit) throws(StorageError) in
                try await store.notifications.notifications(matching: filter, after: last, limit: limit)
            } line: {
                NotificationView.line($0)
            }
            if count > 0 { return nil }
            if let unknown = try await unknownType(store) { return unknown }
            return try await unknownCustomer(store)
        }
        if let unknown { throw OperationFailure.exit(for: unknown) }
    }

    /// Returns an error if the type of `--type` is neither a type of Apple's nor in the store.
    private func unknownType(_ store: any Store) async throws(StorageError) -> InvalidOperation? {
        guard let type, let sentence = NotificationType.unknown(type) else { return nil }
        var filter = NotificationFilter()
        filter.type = type
        guard try await store.notifications.notifications(matching: filter, after: 0, limit: 1).isEmpty else {
            return nil
        }
        return InvalidOperation("--type: \(sentence)")
    }

    /// Returns an error if the store has no record of the customer of `--customer`.
    private func unknownCustomer(_ store: any Store) async throws(StorageError) -> InvalidOperation? {
        guard let id = customer.flatMap(TransactionIdentifier.init(rawValue:)),
            try await store.customers.apps(with: id, in: environment?.environment).isEmpty
        else { return nil }
        return InvalidOperation("--customer: the store has no record of \(id)")
    }

    /// Returns the purchases of a customer, in every app and environment that is listed.
    private func purchases(
        of id: TransactionIdentifier, _ apps: [BundleIdentifier], _ store: any Store
    ) async throws(StorageError) -> [String] {
        let notifications = StoredNotifications(store: store)
        var purchases: Set<String> = [id.rawValue]
        let environments = environment.map { [$0.environment] } ?? [AppStoreEnvironment.production, .sandbox]
        for app in apps {
            for environment in environments {
                let scope = AppScope(bundleId: app, environment: environment)
                purchases.formUnion(try await notifications.purchases(of: id, in: scope))
            }
        }
        return purchases.sorted()
    }
}

/// The `notifications show` command: prints a stored notification.
struct NotificationShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints a stored notification: as it came, decoded, and its transaction decoded.",
        discussion: """
            Only reads the store. A server may be running.

            Exit codes: 0 printed; 1 the store has no such notification, or not the text; 2 usage, configuration; \
            3 the store failed.

            Example:
              receipt-bridge notifications show 1e4b0a7c-5f1e-4a55-8a9c-0d4c2f3b6a71
            """)

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @OptionGroup var output: JSONOption
    @Argument(help: ArgumentHelp("The notificationUUID.", valueName: "uuid"))
    var uuid: String
    @Flag(help: "Print the body as it was received, and nothing else.")
    var raw = false

    func run() async throws {
        let text = try await configuration.withStore { store throws(StorageError) in
            let notifications = StoredNotifications(store: store)
            guard raw else { return try await notifications.view(uuid) }
            return try await notifications.notification(uuid).flatMap(NotificationView.raw)
        }
        guard let text else {
            Terminal.say(raw ? "the store has no body of such a notification" : "the store has no such notification")
            throw ExitCode.someNotVerified
        }
        Terminal.line(text)
    }
}

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
