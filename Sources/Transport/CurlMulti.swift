import CCurl

/// A libcurl multi handle: event loop, connection pool and caches. Used only on the event loop's thread.
struct CurlMulti: ~Copyable {
    private let handle: UnsafeMutableRawPointer

    /// Runs libcurl's process-wide initialization, once and before any other call of libcurl.
    private static let isInitialised = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Returns `nil` if libcurl cannot be initialized.
    init?(_ configuration: CurlConfiguration) {
        guard Self.isInitialised, let handle = curl_multi_init() else { return nil }
        let total = configuration.maximumConnections
        let limits = [
            bridge_curl_multi_set_long(handle, CURLMOPT_MAX_TOTAL_CONNECTIONS, total),
            bridge_curl_multi_set_long(
                handle, CURLMOPT_MAX_HOST_CONNECTIONS, min(total, configuration.maximumConnectionsPerHost)),
            bridge_curl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, total),
            // Only one exchange at a time per connection. With several, about one in 3,000 stalled or failed with
            // libcurl 7.88.1 against Node's HTTP/2 server; with one, none of 60,000 did.
            bridge_curl_multi_set_long(handle, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING)),
        ]
        guard limits.allSatisfy({ $0 == CURLM_OK }) else {
            curl_multi_cleanup(handle)
            return nil
        }
        self.handle = handle
    }

    deinit {
        curl_multi_cleanup(handle)
    }

    /// Wakes `poll` from any thread, as long as this value exists.
    var waker: CurlWaker { CurlWaker(handle) }

    func add(_ easy: CurlHandle) -> Bool {
        curl_multi_add_handle(handle, easy.pointer) == CURLM_OK
    }

    /// Removes a handle and ends its transfer, if any. A connection in the middle of an exchange is closed.
    func remove(_ easy: CurlHandle) {
        curl_multi_remove_handle(handle, easy.pointer)
    }

    /// Advances every transfer as far as possible without waiting.
    func perform() -> Bool {
        var running: Int32 = 0
        return curl_multi_perform(handle, &running) == CURLM_OK
    }

    /// Waits for socket activity, a libcurl timer, a wake-up or the end of the given time.
    func poll(milliseconds: Int32) -> Bool {
        curl_multi_poll(handle, nil, 0, milliseconds, nil) == CURLM_OK
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

/// Wakes the event loop.
///
/// `@unchecked Sendable` because `curl_multi_wakeup` may be called from any thread. The command queue drops its waker
/// before the multi handle is freed, under the lock that every call holds.
struct CurlWaker: @unchecked Sendable {
    private let multi: UnsafeMutableRawPointer

    fileprivate init(_ multi: UnsafeMutableRawPointer) {
        self.multi = multi
    }

    func wake() {
        curl_multi_wakeup(multi)
    }
}
