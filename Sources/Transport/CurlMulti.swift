import CCurl

/// The multi handle: libcurl's event loop, connection pool and caches. Lives on the driver's thread.
struct CurlMulti: ~Copyable {
    private let handle: UnsafeMutableRawPointer

    /// libcurl's process-wide set-up, which must happen once and before anything else of it.
    private static let isInitialised = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Nil when libcurl cannot be set up.
    init?(_ configuration: CurlConfiguration) {
        guard Self.isInitialised, let handle = curl_multi_init() else { return nil }
        let total = configuration.maximumConnections
        let limits = [
            bridge_curl_multi_set_long(handle, CURLMOPT_MAX_TOTAL_CONNECTIONS, total),
            bridge_curl_multi_set_long(
                handle, CURLMOPT_MAX_HOST_CONNECTIONS, min(total, configuration.maximumConnectionsPerHost)),
            bridge_curl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, total),
            // One exchange on a connection at a time: with several, about one of 3,000 stalled or failed with libcurl
            // 7.88.1 against Node's HTTP/2 server; without, none of 60,000.
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

    /// Wakes `poll` from any thread, for as long as this value lives.
    var waker: CurlWaker { CurlWaker(handle) }

    func add(_ easy: CurlHandle) -> Bool {
        curl_multi_add_handle(handle, easy.pointer) == CURLM_OK
    }

    /// Ends its transfer if there is one; a connection in the middle of an exchange is closed.
    func remove(_ easy: CurlHandle) {
        curl_multi_remove_handle(handle, easy.pointer)
    }

    /// Moves every transfer as far as it goes without waiting.
    func perform() -> Bool {
        var running: Int32 = 0
        return curl_multi_perform(handle, &running) == CURLM_OK
    }

    /// Waits for a socket, a timer of libcurl's, a wake-up or the end of the pause.
    func poll(milliseconds: Int32) -> Bool {
        curl_multi_poll(handle, nil, 0, milliseconds, nil) == CURLM_OK
    }

    /// The next transfer that has ended; nil when all were told.
    func nextDone() -> (easy: UnsafeMutableRawPointer, result: CURLcode)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(handle, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            return (easy, bridge_curl_message_result(message))
        }
        return nil
    }
}

/// Wakes the driver.
///
/// Unchecked: `curl_multi_wakeup` may be called from any thread, and the mailbox drops its waker, under the lock that
/// every call holds, before the multi handle goes.
struct CurlWaker: @unchecked Sendable {
    private let multi: UnsafeMutableRawPointer

    fileprivate init(_ multi: UnsafeMutableRawPointer) {
        self.multi = multi
    }

    func wake() {
        curl_multi_wakeup(multi)
    }
}
