import ArgumentParser
import Foundation
import Storage
import VerifyReceipt
import Responses
import AppStoreTypes

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
                  receipt-bridge forwarding list --dead --config bridge.yaml
                """)

        @OptionGroup var configuration: ConfigurationOptions
        @Flag(help: "Only deliveries that failed for good.")
        var dead = false

        func run() async throws {
            try await configuration.withStore { store throws(StorageError) in
                // Reads page by page, so that a large store does not have to fit into memory.
                var last: Int64 = 0
                while true {
                    let page = try await store.deliveries(in: dead ? .abandoned : nil, after: last)
                    guard let end = page.last else { return }
                    for delivery in page { Terminal.line(delivery.line) }
                    last = end.id
                }
            }
        }
    }

    /// Prints one line per delivery that is queued again. The exit code is 1 if there is none.
    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Queues deliveries again; the server sends them.",
            discussion: """
                Exit codes: 0 queued; 1 no matching deliveries; 2 usage.

                Example:
                  receipt-bridge forwarding replay --all-dead --config bridge.yaml
                """)

        @OptionGroup var configuration: ConfigurationOptions
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
            let replay = notification.map { Store.Replay.notification(uuid: $0) } ?? .allDead
            let count = try await configuration.withStore { store throws(StorageError) in
                let queued = try await store.replay(replay, to: target, at: .now)
                for delivery in queued { Terminal.line(delivery.line) }
                return queued.count
            }
            guard count > 0 else {
                Terminal.say("no matching deliveries")
                throw ExitCode.someNotVerified
            }
        }
    }
}

extension ConfigurationOptions {
    /// Opens the configured store, runs `work` and closes the store. The store must exist.
    func withStore<Value>(
        _ work: (Store) async throws(StorageError) -> Value
    ) async throws -> Value {
        let path: String
        do throws(ConfigurationError) {
            guard let store = try settings().storePath else {
                throw ConfigurationError(["store: no store is configured; specify a configuration with --config"])
            }
            path = store
        } catch {
            throw Self.report(error)
        }
        guard FileManager.default.fileExists(atPath: path) else {
            Terminal.say("\(path): there is no such store")
            throw ExitCode.usage
        }
        do throws(StorageError) {
            let store = try Store(path: path)
            let value = try await work(store)
            await store.close()
            return value
        } catch {
            Terminal.say("\(error)")
            throw ExitCode.usage
        }
    }
}

extension DeliverySummary {
    /// One JSON object without a line feed.
    fileprivate var line: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        let texts: [(String, String?)] = [
            ("notificationUUID", uuid), ("notificationType", type), ("subtype", subtype), ("environment", environment),
            ("bundleId", targetKey.bundleId.rawValue), ("target", targetKey.url), ("as", targetKey.form),
            ("state", state.name), ("lastFailure", lastFailure),
        ]
        for case (let key, let text?) in texts {
            writer.key(key)
            writer.value(text)
        }
        let numbers: [(String, Int64?)] = [
            ("attempts", Int64(attempts)), ("createdAt", createdAt.milliseconds),
            ("nextAttempt", nextAttempt?.milliseconds),
        ]
        for case (let key, let number?) in numbers {
            writer.key(key)
            writer.value(number)
        }
        writer.endObject()
        return writer.finish()
    }
}
