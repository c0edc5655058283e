import ReceiptBridgeBase
import ReceiptBridgeCCurl

/// The event loop that performs the actions of the schedule on its own thread.
///
/// It owns all libcurl objects. The command queue is the only part that other threads access.
struct CurlEventLoop: ~Copyable {
    private let commandQueue: CurlCommandQueue
    private let configuration: CurlConfiguration
    private let sessions: CurlSessions
    private let poller: SocketPoller
    private var connections: CurlConnections
    private let clock = ContinuousClock()
    private var schedule: ExchangeSchedule
    private let connected = CurlConnected()
    private var idleConnections: IdleConnectionPolicy
    /// Submitted exchanges that have not been passed to libcurl yet.
    private var waiting: [ExchangeSchedule.ID: CurlCommandQueue.Submission] = [:]
    /// Exchanges passed to libcurl. Keeps the context of each callback alive.
    private var transfers: [ExchangeSchedule.ID: CurlTransfer] = [:]
    private var identifiers: [UnsafeMutableRawPointer: ExchangeSchedule.ID] = [:]
    /// Reset handles of successful transfers for reuse, at most ``maximumIdleHandles``.
    private var idleHandles: [CurlHandle] = []

    private static let maximumIdleHandles = 256
    private static let longestPause = Duration.seconds(60)

    /// Runs until the command queue is stopped and every exchange has ended. Blocks its thread.
    static func run(_ commandQueue: CurlCommandQueue, _ configuration: CurlConfiguration) {
        let unprocessed: [CurlCommandQueue.Message]
        let reason: String
        if commandQueue.wakeUps >= 0, CurlMulti.isInitialised, let sessions = CurlSessions(),
            let poller = SocketPoller()
        {
            poller.watch(commandQueue.wakeUps, for: .read)
            var eventLoop = CurlEventLoop(commandQueue, configuration, sessions, poller)
            unprocessed = eventLoop.loop()
            reason = "the transport is shut down"
        } else {
            unprocessed = commandQueue.close()
            reason = "libcurl cannot be initialized"
        }
        for case .start(let submission) in unprocessed {
            let host = submission.request.url.host
            submission.continuation.resume(returning: .failure(TransportError(.shutDown, at: host, reason)))
        }
        commandQueue.end.end(())
    }

    private init(
        _ commandQueue: CurlCommandQueue, _ configuration: CurlConfiguration, _ sessions: CurlSessions,
        _ poller: SocketPoller
    ) {
        (self.commandQueue, self.configuration) = (commandQueue, configuration)
        (self.sessions, self.poller) = (sessions, poller)
        connections = CurlConnections(configuration.limits, poller)
        schedule = ExchangeSchedule(configuration.limits)
        idleConnections = IdleConnectionPolicy(at: clock.now)
    }

    private mutating func loop() -> [CurlCommandQueue.Message] {
        while true {
            let now = clock.now
            for message in commandQueue.drain() { receive(message, now) }
            performActions(now)
            advance()
            if schedule.isDone { return commandQueue.close() }
            trimConnections()
            let isQuiet = commandQueue.prepareToWait()
            let events = poller.wait(milliseconds: isQuiet ? pause() : 0)
            // If the process was suspended meanwhile, a request whose deadline has passed must not be sent any more.
            performActions(clock.now)
            for event in events {
                if event.socket == commandQueue.wakeUps { commandQueue.wokeUp() } else { connections.isReady(event) }
            }
            collectFinished()
        }
    }

    /// Lets libcurl work until there is nothing more to do without waiting for a socket or a timer. New transfers begin
    /// with libcurl's timer, and a connection that has become ready lets the schedule start another exchange.
    private mutating func advance() {
        while let timer = connections.timer {
            let now = clock.now
            guard timer <= now else { return }
            connections.advance(to: now)
            collectFinished()
            performActions(clock.now)
        }
    }

    private mutating func receive(_ message: CurlCommandQueue.Message, _ now: ContinuousClock.Instant) {
        switch message {
        case .start(let submission):
            waiting[submission.id] = submission
            let request = submission.request
            schedule.submitted(
                .init(
                    submission.id, origin: request.url.origin, owner: request.owner, isDelivery: request.isDelivery,
                    deadline: submission.submitted + request.timeout), now: now)
        case .cancel(let id): schedule.cancelled(id, now: now)
        case .stop(let instant): schedule.stop(at: instant)
        }
    }

    /// Performs the actions that are due. An exchange that cannot start frees capacity for the next.
    private mutating func performActions(_ now: ContinuousClock.Instant) {
        var actions = schedule.actions(now: now)
        while !actions.isEmpty {
            var hasFailedStarts = false
            for action in actions {
                switch action {
                case .start(let id): hasFailedStarts = !start(id, now) || hasFailedStarts
                case .fail(let id, let code): end(id, with: .failure(error(code, of: id)))
                }
            }
            actions = hasFailedStarts ? schedule.actions(now: now) : []
        }
    }

    /// Starts an exchange in libcurl. Returns false if it could not start, and ends it with an error in that case.
    private mutating func start(_ id: ExchangeSchedule.ID, _ now: ContinuousClock.Instant) -> Bool {
        guard let submission = waiting.removeValue(forKey: id) else { return true }
        let host = submission.request.url.host
        guard let handle = idleHandles.popLast() ?? CurlHandle(sessions) else {
            fail(id, submission, TransportError(.internalFault, at: host, "libcurl is out of memory"))
            return false
        }
        let transfer = CurlTransfer(submission, handle, at: now, connected, configuration.memory)
        do {
            try handle.prepare(transfer, configuration)
        } catch {
            fail(id, submission, error)
            return false
        }
        guard connections.add(handle) else {
            fail(id, submission, TransportError(.internalFault, at: host, "libcurl rejected the request"))
            return false
        }
        transfers[id] = transfer
        identifiers[handle.pointer] = id
        idleConnections.running(transfers.count)
        return true
    }

    private mutating func fail(
        _ id: ExchangeSchedule.ID, _ submission: CurlCommandQueue.Submission, _ error: TransportError
    ) {
        schedule.finished(id, now: clock.now)
        submission.continuation.resume(returning: .failure(error))
    }

    /// Tells the schedule which connections have become ready, and ends all transfers that libcurl has completed.
    private mutating func collectFinished() {
        for id in connected.exchanges { schedule.connected(id) }
        connected.exchanges.removeAll(keepingCapacity: true)
        let now = clock.now
        while let (easy, result) = connections.nextDone() {
            guard let id = identifiers[easy], let transfer = transfers[id] else { continue }
            schedule.finished(id, now: now)
            end(id, with: outcome(of: transfer, result))
        }
    }

    private func outcome(of transfer: CurlTransfer, _ result: CURLcode) -> CurlCommandQueue.Outcome {
        let host = transfer.request.url.host
        let failureAtEnd =
            switch result {
            case CURLE_OK: transfer.body.failureAtEnd
            case CURLE_FILESIZE_EXCEEDED: ResponseBody.Failure.tooLarge
            default: ResponseBody.Failure?.none
            }
        if let failure = transfer.body.failure ?? failureAtEnd {
            return .failure(failure.error(at: host, limit: transfer.request.maximumResponseBytes))
        }
        guard result == CURLE_OK else {
            if transfer.handle.proxyStatus >= 300 {
                let reason = "the proxy rejected the request with status \(transfer.handle.proxyStatus)"
                return .failure(TransportError(.connectFailed, at: host, reason))
            }
            var error = CurlFailure.error(result, at: host, text: transfer.handle.failureText)
            error.timeAtHost = transfer.timeAtHost(until: clock.now)
            return .failure(error)
        }
        return .success(
            HTTPResponse(
                status: transfer.handle.status, headers: transfer.headers, body: transfer.body.bytes,
                memory: transfer.body.memory))
    }

    /// Ends an exchange that reached the schedule, and returns its handle to the pool. No other method does this.
    private mutating func end(_ id: ExchangeSchedule.ID, with outcome: CurlCommandQueue.Outcome) {
        if let transfer = transfers.removeValue(forKey: id) {
            let handle = transfer.handle
            connections.remove(handle)
            identifiers[handle.pointer] = nil
            // libcurl 7.88 may keep the receive buffer of a transfer that failed, whatever size the next one sets.
            if case .success = outcome, idleHandles.count < Self.maximumIdleHandles {
                handle.reset()
                idleHandles.append(handle)
            }
            // libcurl reads the body from the submission's memory, so the submission must live until here.
            transfer.submission.continuation.resume(returning: outcome)
        } else if let submission = waiting.removeValue(forKey: id) {
            submission.continuation.resume(returning: outcome)
        }
    }

    private func error(_ code: TransportError.Code, of id: ExchangeSchedule.ID) -> TransportError {
        let request = transfers[id]?.request ?? waiting[id]?.request
        let reason =
            switch code {
            case .timedOut: "no complete response within \(request.map { "\($0.timeout)" } ?? "the timeout")"
            case .noConnection: "no connection was or will be free in time"
            case .cancelled: "the request was canceled"
            default: "the transport is shut down"
            }
        var error = TransportError(code, at: request?.url.host ?? "-", reason)
        error.timeAtHost = transfers[id]?.timeAtHost(until: clock.now)
        return error
    }

    /// Closes connections that have not been needed for a while. TLS sessions remain.
    private mutating func trimConnections() {
        if let limit = idleConnections.limit(running: transfers.count, at: clock.now) {
            connections.keep(connections: limit)
        }
    }

    /// The time to wait in ms, rounded up so that the loop does not wake just before a deadline.
    private mutating func pause() -> Int32 {
        let now = clock.now
        var pause = min(schedule.pause(from: now) ?? Self.longestPause, idleConnections.pause(from: now))
        if let timer = connections.timer { pause = min(pause, max(now.duration(to: timer), .zero)) }
        return Int32((pause / .milliseconds(1)).rounded(.up))
    }
}
