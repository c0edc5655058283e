import CCurl

/// The event loop that performs the actions of the schedule on its own thread.
///
/// It owns all libcurl objects. The command queue is the only part that other threads access.
struct CurlEventLoop: ~Copyable {
    private let commandQueue: CurlCommandQueue
    private let configuration: CurlConfiguration
    private let multi: CurlMulti
    private let clock = ContinuousClock()
    private var schedule: ExchangeSchedule
    /// Submitted exchanges that have not been passed to libcurl yet.
    private var waiting: [ExchangeSchedule.ID: CurlCommandQueue.Submission] = [:]
    /// Exchanges passed to libcurl. Keeps the context of each callback alive.
    private var transfers: [ExchangeSchedule.ID: CurlTransfer] = [:]
    private var identifiers: [UnsafeMutableRawPointer: ExchangeSchedule.ID] = [:]
    /// Reset handles for reuse, at most ``maximumIdleHandles``.
    private var idleHandles: [CurlHandle] = []

    private static let maximumIdleHandles = 64
    private static let longestPause = Duration.seconds(60)

    /// Runs until the command queue is stopped and every exchange has ended. Blocks its thread.
    static func run(_ commandQueue: CurlCommandQueue, _ configuration: CurlConfiguration) {
        let unprocessed: [CurlCommandQueue.Message]
        if let multi = CurlMulti(configuration) {
            commandQueue.open(multi.waker)
            var eventLoop = CurlEventLoop(commandQueue, configuration, multi)
            unprocessed = eventLoop.loop()
        } else {
            unprocessed = commandQueue.close()
        }
        for case .start(let submission) in unprocessed {
            let host = submission.request.url.host
            submission.continuation.resume(
                returning: .failure(TransportError(.shutDown, at: host, "the transport is shut down")))
        }
        commandQueue.signalEnd()
    }

    private init(_ commandQueue: CurlCommandQueue, _ configuration: CurlConfiguration, _ multi: consuming CurlMulti) {
        self.commandQueue = commandQueue
        self.configuration = configuration
        self.multi = multi
        schedule = ExchangeSchedule(
            maximumRunning: configuration.maximumConnections, maximumPerOrigin: configuration.maximumConnectionsPerHost)
    }

    /// Closes the command queue itself, while the multi handle that the queue wakes is guaranteed to exist.
    private mutating func loop() -> [CurlCommandQueue.Message] {
        while true {
            for message in commandQueue.drain() { receive(message) }
            performActions()
            var succeeded = multi.perform()
            if collectFinished() { performActions() }
            if schedule.isDone { return commandQueue.close() }
            succeeded = multi.poll(milliseconds: pause()) && succeeded
            // Never observed. If libcurl keeps failing, the loop must not spin; deadlines still end every exchange.
            if !succeeded { _ = multi.poll(milliseconds: 10) }
        }
    }

    /// Passes a command to the schedule.
    private mutating func receive(_ message: CurlCommandQueue.Message) {
        switch message {
        case .start(let submission):
            waiting[submission.id] = submission
            let deadline = submission.submitted + submission.request.timeout
            schedule.submitted(submission.id, origin: submission.request.url.origin, deadline: deadline)
        case .cancel(let id): schedule.cancelled(id)
        case .stop(let instant): schedule.stop(at: instant)
        }
    }

    /// Performs the actions that are due. An exchange that cannot start frees capacity for the next.
    private mutating func performActions() {
        var actions = schedule.actions(now: clock.now)
        while !actions.isEmpty {
            var hasFailedStarts = false
            for action in actions {
                switch action {
                case .start(let id): hasFailedStarts = !start(id) || hasFailedStarts
                case .fail(let id, let code): end(id, with: .failure(error(code, of: id)))
                }
            }
            actions = hasFailedStarts ? schedule.actions(now: clock.now) : []
        }
    }

    /// Starts an exchange in libcurl. Returns false if it could not start, and ends it with an error in that case.
    private mutating func start(_ id: ExchangeSchedule.ID) -> Bool {
        guard let submission = waiting.removeValue(forKey: id) else { return true }
        let host = submission.request.url.host
        guard let handle = idleHandles.popLast() ?? CurlHandle() else {
            fail(id, submission, TransportError(.internalFault, at: host, "libcurl is out of memory"))
            return false
        }
        let transfer = CurlTransfer(submission, handle)
        do {
            try handle.prepare(transfer, configuration)
        } catch {
            fail(id, submission, error)
            return false
        }
        guard multi.add(handle) else {
            fail(id, submission, TransportError(.internalFault, at: host, "libcurl rejected the request"))
            return false
        }
        transfers[id] = transfer
        identifiers[handle.pointer] = id
        return true
    }

    private mutating func fail(
        _ id: ExchangeSchedule.ID, _ submission: CurlCommandQueue.Submission, _ error: TransportError
    ) {
        schedule.finished(id)
        resume(submission, with: .failure(error))
    }

    /// Ends all transfers that libcurl has completed. Returns true if there was at least one.
    private mutating func collectFinished() -> Bool {
        var hasFinished = false
        while let (easy, result) = multi.nextDone() {
            guard let id = identifiers[easy], let transfer = transfers[id] else { continue }
            schedule.finished(id)
            end(id, with: outcome(of: transfer, result))
            hasFinished = true
        }
        return hasFinished
    }

    /// Converts the end of a transfer to a response or an error.
    private func outcome(of transfer: CurlTransfer, _ result: CURLcode) -> CurlCommandQueue.Outcome {
        let host = transfer.request.url.host
        if transfer.isTooLarge || result == CURLE_FILESIZE_EXCEEDED {
            let limit = transfer.request.maximumResponseBytes
            return .failure(TransportError(.responseTooLarge, at: host, "the response is larger than \(limit) bytes"))
        }
        guard result == CURLE_OK else {
            if transfer.handle.proxyStatus >= 300 {
                let reason = "the proxy rejected the request with status \(transfer.handle.proxyStatus)"
                return .failure(TransportError(.connectFailed, at: host, reason))
            }
            return .failure(CurlFailure.error(result, at: host, text: transfer.handle.failureText))
        }
        return .success(
            HTTPResponse(status: transfer.handle.status, headers: transfer.headers, body: transfer.body))
    }

    /// Ends an exchange that reached the schedule, and returns its handle to the pool. No other method does this.
    private mutating func end(_ id: ExchangeSchedule.ID, with outcome: CurlCommandQueue.Outcome) {
        if let transfer = transfers.removeValue(forKey: id) {
            let handle = transfer.handle
            multi.remove(handle)
            identifiers[handle.pointer] = nil
            handle.reset()
            if idleHandles.count < Self.maximumIdleHandles { idleHandles.append(handle) }
            // libcurl reads the body from the submission's memory, so the submission must live until here.
            resume(transfer.submission, with: outcome)
        } else if let submission = waiting.removeValue(forKey: id) {
            resume(submission, with: outcome)
        }
    }

    private func resume(_ submission: CurlCommandQueue.Submission, with outcome: CurlCommandQueue.Outcome) {
        commandQueue.countFinished()
        submission.continuation.resume(returning: outcome)
    }

    /// The error for an exchange that the schedule ended: timed out, canceled or shut down.
    private func error(_ code: TransportError.Code, of id: ExchangeSchedule.ID) -> TransportError {
        let sent = transfers[id]?.handle.sentBytes ?? 0
        let request = transfers[id]?.request ?? waiting[id]?.request
        let reason =
            switch code {
            case .timedOut: "no complete response within \(request.map { "\($0.timeout)" } ?? "the timeout")"
            case .cancelled: "the request was canceled"
            default: "the transport is shut down"
            }
        var error = TransportError(code, at: request?.url.host ?? "-", reason)
        error.endedWhileSending = sent > 0 && sent < request?.body.count ?? 0
        return error
    }

    /// The poll timeout in ms, rounded up so that the loop does not wake just before a deadline.
    private func pause() -> Int32 {
        let pause = min(schedule.pause(from: clock.now) ?? Self.longestPause, Self.longestPause)
        return Int32((pause / .milliseconds(1)).rounded(.up))
    }
}
