import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport
import GRDB

/// A simulated App Store in this process, and a folder with a configuration that uses it.
final class CommandFixture: Sendable {
    let folder: TemporaryFolder
    let appStore: SimulatedStore
    let port: Int

    /// - Parameter store: file of the store in `receipt-bridge.yaml`, or `nil` for none.
    init(
        customers: Int = 24, store: String? = "bridge.sqlite", clock: SimulatedClock = .real
    ) async throws {
        folder = try TemporaryFolder()
        appStore = try SharedSimulator.store(customers: customers, clock: clock)
        port = try await appStore.start()
        try StateDirectory(folder.url.path).write(appStore, host: "127.0.0.1", port: port)
        try configure("receipt-bridge.yaml", store: store.map { "sqlite:\($0)" } ?? "none")
    }

    deinit { Task { [appStore] in await appStore.stop() } }

    /// Writes a configuration. `more` belongs to the app.
    func configure(_ name: String, store: String, answer: String = "[apple, receipt]", more: String = "") throws {
        let yaml =
            try folder.text("receipt-bridge.yaml")
            .split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.hasPrefix("store:") && !$0.hasPrefix("operations:") }
            .joined(separator: "\n").replacing("answer: [apple, receipt]", with: "answer: \(answer)") + more
        try folder.write(name, "store: \(store)\noperations: {listen: 127.0.0.1:0}\n\(yaml)".utf8)
    }

    /// Writes the configuration again, with lines before and after it. The latter belong to the app.
    func configure(before: String = "", after: String = "") throws {
        try folder.write("receipt-bridge.yaml", before + configuration() + after)
    }

    func configuration() throws -> String {
        try folder.text("receipt-bridge.yaml")
    }

    private func arguments(_ words: [String]) -> [String] {
        words.contains("--config") ? words : words + ["--config", "receipt-bridge.yaml"]
    }

    @discardableResult
    func run(
        _ words: String..., exit: Int32? = nil, says message: String = "",
        at location: SourceLocation = #_sourceLocation
    ) async throws -> Binary.Outcome { try await run(words, exit: exit, says: message, at: location) }

    @discardableResult
    func run(
        _ words: [String], environment: [String: String] = [:], exit: Int32? = nil, says message: String = "",
        at location: SourceLocation = #_sourceLocation
    ) async throws -> Binary.Outcome {
        try await Binary.run(
            Binary.url, arguments(words), in: folder, environment: environment, exit: exit, says: message, at: location)
    }

    func start(_ words: String...) throws -> Running { try start(words) }

    func start(_ words: [String], environment: [String: String] = [:]) throws -> Running {
        try Running(arguments(words), in: folder, environment: environment)
    }

    /// Starts a server, and returns it when it listens.
    func serve(_ config: String = "receipt-bridge.yaml", _ words: String..., environment: [String: String] = [:])
        async throws -> Running
    {
        let server = try start(
            ["serve", "--listen", "127.0.0.1:0", "--config", config] + words, environment: environment)
        _ = try await server.port()
        return server
    }

    /// Lets the simulated App Store send its notifications to a server.
    func notify(_ server: Running) async throws {
        let url = "http://127.0.0.1:\(try await server.port())/v1/notifications"
        appStore.outbox.targets.set(try #require(NotificationTarget(url)))
    }

    /// Waits until no notification is to be delivered.
    func isQuiet() async -> Bool { await eventually { appStore.outbox.counts.waiting == 0 } }

    /// Runs an SQL statement in a store.
    func change(_ sql: String, in store: String = "bridge.sqlite", _ arguments: StatementArguments = []) async throws {
        try await DatabaseQueue(path: folder.path(store)).write { try $0.execute(sql: sql, arguments: arguments) }
    }

    /// Fills the store from the notification history.
    func replay() async throws {
        try await run("notifications", "history", "--replay", exit: 0)
    }

    @discardableResult
    func ask(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
        let bytes = body?.bytes ?? []
        let connection = try RawConnection(port: port)
        try await connection.send(
            Array("\(method) \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: \(bytes.count)\r\n\r\n".utf8) + bytes)
        let answer = try #require(try await connection.answer())
        #expect((200..<300).contains(answer.status), "\(method) \(path): \(answer.text)")
        return answer.body.isEmpty ? .null : try JSONValue(reading: answer.body)
    }

    /// Delays each response of an endpoint, so that a run lasts long enough to be killed or stopped.
    func delay(_ endpoint: String, milliseconds: Int64) {
        appStore.faults.add(SimulatedFault(.delay, endpoint: endpoint, milliseconds: milliseconds))
    }

    /// The number of calls that the simulated App Store received.
    var calls: Int { get async throws { Int(try await ask("GET", "/requests")["total"]?.integer ?? -1) } }

    /// Expects that a command fails with this reason, prints no result and calls nothing.
    func expectRefusal(_ words: [String], _ reason: String, exit: Int32 = 2) async throws {
        let before = appStore.requests.total
        let outcome = try await run(words, exit: exit, says: reason)
        #expect(outcome.output.isEmpty && appStore.requests.total == before, "\(words)")
    }

    /// Returns what a command would send, and expects that `--dry-run` calls nothing.
    func preview(_ words: [String]) async throws -> JSONValue {
        let before = appStore.requests.total
        let outcome = try await run(words + ["--dry-run"], exit: 0)
        #expect(appStore.requests.total == before, "\(words)")
        let line = try #require(outcome.lines.first)
        #expect(line["dryRun"] == .bool(true))
        return line
    }

    func customers(_ environment: AppStoreEnvironment = .production) -> [SimulatedCustomer] {
        appStore.world.customers.filter { $0.environment == environment }
    }

    func extendable() -> [(customer: SimulatedCustomer, renewal: SimulatedRenewal)] {
        customers().flatMap { customer in
            customer.renewals.compactMap { renewal in
                let rows = customer.transactions.filter {
                    $0.originalTransactionId == renewal.originalTransactionId
                }
                guard renewal.status == .active, let last = rows.max(by: { $0.purchaseDate < $1.purchaseDate }),
                    last.price > 0, !last.isFamilyShared
                else { return nil }
                return (customer, renewal)
            }
        }
    }

    func stop() async { await appStore.stop() }
}
