import CCurl

/// A libcurl multi handle: connection pool and caches. Used only on the event loop's thread.
struct CurlMulti: ~Copyable {
    private let handle: UnsafeMutableRawPointer
    /// The context of the callbacks.
    private let waits: CurlWaits

    /// Runs libcurl's process-wide initialization, once and before any other call of libcurl.
    private static let isInitialised = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Returns `nil` if libcurl cannot be initialized.
    ///
    /// - Parameter waits: Gets to know what libcurl waits for.
    init?(_ limits: ExchangeSchedule.Limits, _ waits: CurlWaits) {
        guard Self.isInitialised, let handle = curl_multi_init() else { return nil }
        let context = Unmanaged.passUnretained(waits).toOpaque()
        let results = [
            bridge_curl_multi_set_long(handle, CURLMOPT_MAX_TOTAL_CONNECTIONS, limits.total),
            bridge_curl_multi_set_long(handle, CURLMOPT_MAX_HOST_CONNECTIONS, min(limits.total, limits.perOrigin)),
            bridge_curl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, limits.total),
            // Only one exchange at a time per connection: with several, libcurl 7.88.1 fails up to 1 in 120 when a
            // server ends a connection (docs/decisions/0007-http-2-for-get-only.md).
            bridge_curl_multi_set_long(handle, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING)),
            bridge_curl_multi_set_socket_callback(handle, CurlWaits.socketChanged, context),
            bridge_curl_multi_set_timer_callback(handle, CurlWaits.timerChanged, context),
        ]
        guard results.allSatisfy({ $0 == CURLM_OK }) else {
            curl_multi_cleanup(handle)
            return nil
        }
        self.handle = handle
        self.waits = waits
    }

    deinit {
        curl_multi_cleanup(handle)
    }

    /// Sets how many connections stay open for reuse. One more is closed at the end of each exchange until it is kept.
    func keep(connections: Int) {
        _ = bridge_curl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, max(connections, 1))
    }

    func add(_ easy: CurlHandle) -> Bool {
        curl_multi_add_handle(handle, easy.pointer) == CURLM_OK
    }

    /// Removes a handle and ends its transfer, if any. A connection in the middle of an exchange is closed.
    func remove(_ easy: CurlHandle) {
        curl_multi_remove_handle(handle, easy.pointer)
    }

    /// Advances the transfers whose time has come.
    func timerExpired() {
        var running: Int32 = 0
        waits.timer = nil
        curl_multi_socket_action(handle, -1, 0, &running)
    }

    /// Advances the transfer that waits for this socket.
    func isReady(_ event: SocketPoller.Event) {
        var running: Int32 = 0
        var actions: Int32 = 0
        if event.readiness.contains(.read) { actions |= CURL_CSELECT_IN }
        if event.readiness.contains(.write) { actions |= CURL_CSELECT_OUT }
        if event.readiness.contains(.failed) { actions |= CURL_CSELECT_ERR }
        curl_multi_socket_action(handle, event.socket, actions, &running)
    }

    /// The next transfer that has ended, or `nil` if all have been returned.
    func nextDone() -> (easy: UnsafeMutableRawPointer, result: CURLcode)? {
        var messagesInQueue: Int32 = 0
        while let message = curl_multi_info_read(handle, &messagesInQueue) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            return (easy, bridge_curl_message_result(message))
        }
        return nil
    }
}

/// What an event loop waits for: libcurl's sockets and its timer, and the event loop's own pipe. It outlives the multi
/// handle, whose callbacks change it on the event loop's thread.
final class CurlWaits {
    /// When libcurl's next timer expires; `nil` if it has none.
    var timer: ContinuousClock.Instant?
    private var poller: SocketPoller

    /// Returns `nil` if the process has no file descriptor left.
    init?() {
        guard let poller = SocketPoller() else { return nil }
        self.poller = poller
    }

    /// Waits for a socket that is not libcurl's, too.
    func watch(_ socket: Int32) { poller.watch(socket, for: .read) }

    /// Waits until a socket is ready, at most this long in ms. Returns the sockets that are ready.
    func wait(milliseconds: Int32) -> [SocketPoller.Event] { poller.wait(milliseconds: milliseconds) }

    fileprivate static let socketChanged: curl_socket_callback = { _, socket, what, context, _ in
        guard let context else { return 0 }
        let waits = Unmanaged<CurlWaits>.fromOpaque(context).takeUnretainedValue()
        switch what {
        case CURL_POLL_IN: waits.poller.watch(socket, for: .read)
        case CURL_POLL_OUT: waits.poller.watch(socket, for: .write)
        case CURL_POLL_INOUT: waits.poller.watch(socket, for: [.read, .write])
        default: waits.poller.forget(socket)
        }
        return 0
    }

    fileprivate static let timerChanged: curl_multi_timer_callback = { _, milliseconds, context in
        guard let context else { return 0 }
        let waits = Unmanaged<CurlWaits>.fromOpaque(context).takeUnretainedValue()
        waits.timer = milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
        return 0
    }
}
