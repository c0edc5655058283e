import ReceiptBridgeBase
import Foundation

/// The event loop of a client. It owns the connections and runs on one thread, which waits in `poll(2)`.
final class PostgreSQLEventLoop {
    private let commandQueue: PostgreSQLCommandQueue
    private let configuration: PostgreSQLConfiguration
    private let clock = ContinuousClock()
    private var connections: [PostgreSQLConnection] = []
    /// Jobs that wait for a connection, in order. Those that need one alone wait apart.
    private var waiting: [PostgreSQLJob] = []
    private var waitingAlone: [PostgreSQLJob] = []
    /// No job has an earlier deadline.
    private var nextDeadline: ContinuousClock.Instant?
    private var health = PostgreSQLCommandQueue.Health()
    private var isStopping = false

    // Connection attempts.
    private var isConnecting = false
    private var nextAttempt: ContinuousClock.Instant
    private var pause = PostgreSQLEventLoop.shortestPause
    /// The error of the last attempt if there is no connection. Jobs then fail at once.
    private var unavailable: PostgreSQLError?

    private static let shortestPause = Duration.milliseconds(500)
    private static let longestPause = Duration.seconds(15)
    /// The number of jobs in one connection's pipeline.
    private static let maximumLoad = 32

    /// Runs until the command queue is stopped and the jobs that were sent have ended. Blocks its thread.
    static func run(_ commandQueue: PostgreSQLCommandQueue, _ configuration: PostgreSQLConfiguration) {
        PostgreSQLEventLoop(commandQueue, configuration).loop()
        end(commandQueue)
    }

    static func end(_ commandQueue: PostgreSQLCommandQueue) {
        defer { commandQueue.end.end(()) }
        for message in commandQueue.close() {
            switch message {
            case .start(let job): job.end(.failure(PostgreSQLError(.closed, "the client is closed")))
            case .connection(.success(let connection)): connection.library.finish(connection.handle)
            case .connection(.failure), .stop: break
            }
        }
    }

    private init(_ commandQueue: PostgreSQLCommandQueue, _ configuration: PostgreSQLConfiguration) {
        self.commandQueue = commandQueue
        self.configuration = configuration
        nextAttempt = clock.now
    }

    private func loop() {
        while true {
            for message in commandQueue.drain() { receive(message) }
            expire()
            connect()
            dispatch()
            closeUnusable()
            publish()
            if isStopping, connections.allSatisfy({ $0.load == 0 }) { return closeAll() }
            wait()
        }
    }

    // MARK: Commands

    private func receive(_ message: PostgreSQLCommandQueue.Message) {
        switch message {
        case .start(let job):
            nextDeadline = min(nextDeadline ?? job.deadline, job.deadline)
            switch job.place {
            case .shared: waiting.append(job)
            case .firstOf: waitingAlone.append(job)
            case .partOf, .commitOf, .lastOf:
                guard let connection = connections.first(where: { $0.accepts(job.place, maximumLoad: .max) }) else {
                    return end(job, .failure(PostgreSQLError(.closed, "the connection of the transaction was lost")))
                }
                connection.send(job)
            }
        case .connection(.success(let connection)):
            isConnecting = false
            pause = Self.shortestPause
            nextAttempt = clock.now
            unavailable = nil
            health.lastError = nil
            connections.append(PostgreSQLConnection(connection, preparesStatements: configuration.preparedStatements))
        case .connection(.failure(let error)):
            isConnecting = false
            nextAttempt = clock.now + pause
            pause = min(pause * 2, Self.longestPause)
            health.lastError = error
            if connections.isEmpty { unavailable = error }
        case .stop:
            isStopping = true
            failWaiting(PostgreSQLError(.closed, "the client is closed"))
        }
    }

    private func connect() {
        let isWanted = connections.count < max(configuration.connections, 1)
        guard isWanted, !isConnecting, !isStopping, nextAttempt <= clock.now else { return }
        isConnecting = true
        let commandQueue = commandQueue
        PostgreSQLConnector.start(configuration) { outcome in
            if !commandQueue.post(outcome), case .success(let connection) = outcome {
                connection.library.finish(connection.handle)
            }
        }
    }

    // MARK: Jobs

    /// Sends waiting jobs. A job that needs a connection alone keeps the least loaded one free of other jobs.
    private func dispatch() {
        if connections.isEmpty, let unavailable {
            publish()
            failWaiting(PostgreSQLError(.notConnected, sqlState: unavailable.sqlState, unavailable.reason))
        }
        var kept: PostgreSQLConnection?
        while let job = waitingAlone.first {
            let free = connections.filter { $0.accepts(.shared, maximumLoad: .max) }
            // One connection stays for other jobs, so that long transactions do not block them.
            guard free.count > 1 || configuration.connections <= 1 else { break }
            guard let connection = free.min(by: { $0.load < $1.load }) else { break }
            guard connection.accepts(job.place, maximumLoad: Self.maximumLoad) else {
                kept = connection
                break
            }
            waitingAlone.removeFirst()
            connection.send(job)
        }
        var sent = 0
        while sent < waiting.count {
            let free = connections.filter { $0 !== kept && $0.accepts(.shared, maximumLoad: Self.maximumLoad) }
            guard let connection = free.min(by: { $0.load < $1.load }) else { break }
            connection.send(waiting[sent])
            sent += 1
        }
        waiting.removeFirst(sent)
    }

    /// Ends the jobs whose deadline has passed. If such a job was sent, its connection is closed, because its answer
    /// would have to be waited for.
    private func expire() {
        let now = clock.now
        guard let nextDeadline, nextDeadline <= now else { return }
        let error = PostgreSQLError(.timedOut, "no connection was free in time")
        for job in waiting + waitingAlone where job.deadline <= now { end(job, .failure(error)) }
        waiting.removeAll { $0.deadline <= now }
        waitingAlone.removeAll { $0.deadline <= now }
        connections.removeAll { connection in
            guard let deadline = connection.deadline, deadline <= now else { return false }
            for (job, outcome) in connection.abandon(at: now) { end(job, outcome) }
            return true
        }
        self.nextDeadline = ((waiting + waitingAlone).map(\.deadline) + connections.compactMap(\.deadline)).min()
    }

    private func failWaiting(_ error: PostgreSQLError) {
        for job in waiting + waitingAlone { end(job, .failure(error)) }
        waiting = []
        waitingAlone = []
    }

    private func end(_ job: PostgreSQLJob, _ outcome: PostgreSQLJob.Outcome) {
        commandQueue.countEnded()
        job.end(outcome)
    }

    // MARK: Connections

    private func closeUnusable() {
        connections.removeAll { connection in
            if let failure = connection.failure {
                health.lastError = failure
                for (job, outcome) in connection.abandon(at: clock.now) { end(job, outcome) }
                return true
            }
            return connection.isRetiring && connection.load == 0
        }
    }

    private func closeAll() {
        connections = []
        publish()
    }

    private func publish() {
        health.connections = connections.count
        commandQueue.publish(health)
    }

    /// Waits until a socket is ready, a message arrives or a deadline passes, and reads from the sockets.
    private func wait() {
        var descriptors = [pollfd(fd: commandQueue.reader, events: Int16(POLLIN), revents: 0)]
        for connection in connections {
            let events = connection.hasUnsentData ? POLLIN | POLLOUT : POLLIN
            descriptors.append(pollfd(fd: connection.socket, events: Int16(events), revents: 0))
        }
        let ready = poll(&descriptors, nfds_t(descriptors.count), milliseconds())
        guard ready > 0 else { return }
        for (connection, descriptor) in zip(connections, descriptors.dropFirst()) where descriptor.revents != 0 {
            if descriptor.revents & Int16(POLLOUT) != 0 { connection.flush() }
            for (job, outcome) in connection.receive() { end(job, outcome) }
        }
    }

    /// The time until the next deadline or connection attempt, in milliseconds.
    private func milliseconds() -> CInt {
        var next = nextDeadline
        if connections.count < max(configuration.connections, 1), !isConnecting, !isStopping {
            next = min(next ?? nextAttempt, nextAttempt)
        }
        guard let next else { return 60_000 }
        let pause = clock.now.duration(to: next)
        return CInt(min(max(pause / .milliseconds(1), 0) + 1, 60_000))
    }
}
