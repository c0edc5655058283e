import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeStorage
import ReceiptBridgeTransport

/// The `forwarding` command: lists and repeats deliveries of forwarded notifications, whether a server is running or
/// not.
struct ForwardingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forwarding",
        abstract: "Lists deliveries of forwarded notifications, and queues them again.",
        subcommands: [List.self, Replay.self])

    /// Prints one line per delivery, in the order in which the notifications arrived.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints one line of JSON per delivery.",
            discussion: """
                Only reads the store. A server may be running.

                Example:
                  receipt-bridge forwarding list --dead --config receipt-bridge.yaml
                """)

        @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
        @OptionGroup var output: JSONOption
        @Flag(help: "Only deliveries that failed for good.")
        var dead = false

        func run() async throws {
            try await configuration.withStore { store throws(StorageError) in
                try await StoredList.print(\.id) { (last, limit) throws(StorageError) in
                    try await store.outbox.deliveries(in: dead ? .abandoned : nil, after: last, limit: limit)
                } line: {
                    $0.line
                }
            }
        }
    }

    /// Prints one line per delivery that is queued again. The exit code is 1 if there is none.
    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Queues deliveries again; the server sends them.",
            discussion: """
                Exit codes: 0 queued; 1 no matching deliveries; 2 usage, configuration; 3 the store failed.

                Example:
                  receipt-bridge forwarding replay --all-dead --config receipt-bridge.yaml
                """)

        @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
        @OptionGroup var output: JSONOption
        @Flag(help: "Queue all deliveries that failed for good.")
        var allDead = false
        @Option(help: ArgumentHelp("Queue all deliveries of this notification, delivered or not.", valueName: "uuid"))
        var notification: String?
        @Option(help: ArgumentHelp("Only deliveries to this target.", valueName: "url"))
        var target: String?

        func validate() throws {
            guard allDead != (notification != nil) else {
                throw ValidationError("specify either --all-dead or --notification UUID")
            }
        }

        func run() async throws {
            let replay = notification.map { DeliveryReplay.notification(uuid: $0) } ?? .allDead
            let count = try await configuration.withStore { store throws(StorageError) in
                let queued = try await store.outbox.replay(replay, to: target, at: .now)
                for delivery in queued { Terminal.line(delivery.line) }
                return queued.count
            }
            guard count > 0 else {
                let targets = try ConfigurationOptions.reporting { try configuration.settings() }.apps
                    .flatMap(\.forward).map(\.url.text)
                let isUnknown = target.map { !targets.contains($0) } ?? false
                let known = "the configured targets are: \(targets.joined(separator: ", "))"
                Terminal.say(
                    "no matching deliveries" + (isUnknown ? target?.didYouMean(targets) ?? "" : ""),
                    hint: isUnknown && !targets.isEmpty ? known : nil)
                throw ExitCode.someNotVerified
            }
        }
    }
}

extension DeliverySummary {
    /// One JSON object without a line feed.
    fileprivate var line: [UInt8] {
        JSONWriter.object {
            $0.member("notificationUUID", ifPresent: uuid)
            $0.member("notificationType", ifPresent: type)
            $0.member("subtype", ifPresent: subtype)
            $0.member("environment", ifPresent: environment)
            $0.member("bundleId", targetKey.bundleId.rawValue)
            $0.member("target", targetKey.url)
            $0.member("as", targetKey.form)
            $0.member("state", state.name)
            $0.member("lastFailure", ifPresent: lastFailure)
            $0.member("attempts", Int64(attempts))
            $0.member("createdAt", createdAt.milliseconds)
            $0.member("nextAttempt", ifPresent: nextAttempt?.milliseconds)
        }
    }
}
