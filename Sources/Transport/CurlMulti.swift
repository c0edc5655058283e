import ReceiptBridgeCCurl

/// The transfers that libcurl works on, and its connections, in groups of ``groupSize``.
///
/// For each new transfer libcurl looks at the connections with its host one after the other until it finds an idle one.
/// With thousands in use that takes longer than the rest of the transfer, so a multi handle has only some of them. A
/// new transfer gets the first one that has room, because that is where most idle connections are.
struct CurlConnections: ~Copyable {
    /// The most connections of a multi handle. With 3,000 exchanges in flight, a response takes 40 % more CPU time if
    /// one handle has them all.
    static let groupSize = 128

    private let limits: ExchangeSchedule.Limits
    private let poller: SocketPoller
    private var groups: [CurlMulti] = []

    init(_ limits: ExchangeSchedule.Limits, _ poller: SocketPoller) {
        self.limits = limits
        self.poller = poller
    }

    /// Starts the transfer of a handle. Returns false if libcurl does not take it.
    mutating func add(_ easy: CurlHandle) -> Bool {
        if let group = groups.first(where: \.hasRoom) { return group.add(easy) }
        let share = min(Self.groupSize, max(limits.total - groups.count * Self.groupSize, 1))
        guard let group = CurlMulti(share, perHost: limits.perOrigin, number: groups.count, poller) else {
            return false
        }
        groups.append(group)
        return group.add(easy)
    }

    /// Removes a handle and ends its transfer, if any. A connection in the middle of an exchange is closed.
    func remove(_ easy: CurlHandle) { easy.multi?.remove(easy) }

    /// Sets how many connections stay open for reuse. One more is closed at the end of each exchange until it is kept.
    mutating func keep(connections: Int) {
        while let last = groups.last, last.running == 0, (groups.count - 1) * Self.groupSize >= connections {
            groups.removeLast()
        }
        for (number, group) in groups.enumerated() {
            group.keep(connections: connections - number * Self.groupSize)
        }
    }

    /// When libcurl's next timer expires; `nil` without a timer.
    var timer: ContinuousClock.Instant? { groups.lazy.compactMap(\.timer).min() }

    func advance(to now: ContinuousClock.Instant) {
        for group in groups {
            if let timer = group.timer, timer <= now { group.timerExpired() }
        }
    }

    /// Advances the transfer that waits for this socket.
    func isReady(_ event: SocketPoller.Event) {
        if event.tag < groups.count { groups[event.tag].isReady(event) }
    }

    /// The next transfer that has ended, or `nil` if all have been returned.
    func nextDone() -> (easy: UnsafeMutableRawPointer, result: CURLcode)? {
        for group in groups {
            if let done = group.nextDone() { return done }
        }
        return nil
    }
}

/// A libcurl multi handle: connection pool and caches. Used only on the event loop's thread.
final class CurlMulti {
    private let handle: UnsafeMutableRawPointer
    private let limit: Int
    /// The tag of its sockets.
    private let number: Int
    private let poller: SocketPoller
    /// When libcurl's timer expires; `nil` if it is not set.
    private(set) var timer: ContinuousClock.Instant?
    /// The number of handles that were added and not removed.
    private(set) var running = 0

    /// Runs libcurl's process-wide initialization, once and before any other call of libcurl.
    static let isInitialised = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Returns `nil` if libcurl cannot be initialized.
    fileprivate init?(_ limit: Int, perHost: Int, number: Int, _ poller: SocketPoller) {
        guard Self.isInitialised, let handle = curl_multi_init() else { return nil }
        (self.handle, self.limit, self.number, self.poller) = (handle, limit, number, poller)
        let context = Unmanaged.passUnretained(self).toOpaque()
        let results = [
            bridge_curl_multi_set_long(handle, CURLMOPT_MAX_TOTAL_CONNECTIONS, limit),
            bridge_curl_multi_set_long(handle, CURLMOPT_MAX_HOST_CONNECTIONS, min(limit, perHost)),
            bridge_curl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, limit),
            // Only one exchange at a time per connection: with several, libcurl 7.88.1 fails up to 1 in 120 when a
            // server ends a connection (`CurlHandle.setProtocol`).
            bridge_curl_multi_set_long(handle, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING)),
            bridge_curl_multi_set_socket_callback(handle, socketChanged, context),
            bridge_curl_multi_set_timer_callback(handle, timerChanged, context),
        ]
        // The handle is freed by `deinit`.
        guard results.allSatisfy({ $0 == CURLM_OK }) else { return nil }
    }

    deinit {
        curl_multi_cleanup(handle)
    }

    fileprivate var hasRoom: Bool { running < limit }

    fileprivate func add(_ easy: CurlHandle) -> Bool {
        guard curl_multi_add_handle(handle, easy.pointer) == CURLM_OK else { return false }
        easy.multi = self
        running += 1
        return true
    }

    fileprivate func remove(_ easy: CurlHandle) {
        curl_multi_remove_handle(handle, easy.pointer)
        easy.multi = nil
        running -= 1
    }

    fileprivate func keep(connections: Int) {
        _ = bridge_curl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, min(max(connections, 1), limit))
    }

    fileprivate func timerExpired() {
        var running: Int32 = 0
        timer = nil
        curl_multi_socket_action(handle, -1, 0, &running)
    }

    fileprivate func isReady(_ event: SocketPoller.Event) {
        var running: Int32 = 0
        var actions: Int32 = 0
        if event.readiness.contains(.read) { actions |= CURL_CSELECT_IN }
        if event.readiness.contains(.write) { actions |= CURL_CSELECT_OUT }
        if event.readiness.contains(.failed) { actions |= CURL_CSELECT_ERR }
        curl_multi_socket_action(handle, event.socket, actions, &running)
    }

    fileprivate func nextDone() -> (easy: UnsafeMutableRawPointer, result: CURLcode)? {
        var messagesInQueue: Int32 = 0
        while let message = curl_multi_info_read(handle, &messagesInQueue) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            return (easy, bridge_curl_message_result(message))
        }
        return nil
    }

    fileprivate func waits(_ socket: Int32, for readiness: SocketPoller.Readiness, of easy: UnsafeMutableRawPointer?) {
        guard readiness.isEmpty else { return poller.watch(socket, for: readiness, tag: number) }
        // After a response. HTTP/2 has frames between exchanges, and its responses name their requests.
        var version = 0
        if let easy { bridge_curl_get_long(easy, CURLINFO_HTTP_VERSION, &version) }
        poller.forget(socket, isIdle: version == CURL_HTTP_VERSION_1_0 || version == CURL_HTTP_VERSION_1_1)
    }

    fileprivate func setTimer(milliseconds: Int) {
        timer = milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
    }
}

private let socketChanged: curl_socket_callback = { easy, socket, what, context, _ in
    guard let context else { return 0 }
    let readiness: SocketPoller.Readiness =
        switch what {
        case CURL_POLL_IN: .read
        case CURL_POLL_OUT: .write
        case CURL_POLL_INOUT: [.read, .write]
        default: []
        }
    Unmanaged<CurlMulti>.fromOpaque(context).takeUnretainedValue().waits(socket, for: readiness, of: easy)
    return 0
}

private let timerChanged: curl_multi_timer_callback = { _, milliseconds, context in
    guard let context else { return 0 }
    Unmanaged<CurlMulti>.fromOpaque(context).takeUnretainedValue().setTimer(milliseconds: milliseconds)
    return 0
}
