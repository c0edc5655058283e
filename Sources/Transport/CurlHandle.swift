import ReceiptBridgeCCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A libcurl easy handle: the options of one request, to be added to the multi handle. Reusable after `reset`.
///
/// Used only on the event loop's thread.
final class CurlHandle {
    let pointer: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private var headerList: UnsafeMutablePointer<curl_slist>?
    /// libcurl's share must be freed after the handles that use it.
    private let sessions: CurlSessions
    var multi: CurlMulti?

    /// Resumes the TLS sessions. Returns `nil` if libcurl is out of memory.
    init?(_ sessions: CurlSessions) {
        guard let pointer = curl_easy_init() else { return nil }
        guard bridge_curl_set_share(pointer, sessions.share) == CURLE_OK else {
            curl_easy_cleanup(pointer)
            return nil
        }
        self.pointer = pointer
        self.sessions = sessions
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(pointer)
        curl_slist_free_all(headerList)
        errorText.deallocate()
    }

    /// Clears the options of the request. Connections and DNS results cached by the multi handle remain, and the share.
    func reset() {
        curl_easy_reset(pointer)
        curl_slist_free_all(headerList)
        headerList = nil
        errorText.pointee = 0
    }

    /// libcurl's description of the failure, without unprintable characters and cut to 200.
    var failureText: String? {
        let text = String(cString: errorText).unicodeScalars.filter { (0x20...0x7E).contains($0.value) }
        return text.isEmpty ? nil : String(String.UnicodeScalarView(text.prefix(200)))
    }

    var status: Int { integer(CURLINFO_RESPONSE_CODE) }

    /// The status of the proxy's response to CONNECT; 0 if there was none.
    var proxyStatus: Int { integer(CURLINFO_HTTP_CONNECTCODE) }

    /// The number of bytes of the request body that were sent.
    var sentBytes: Int {
        var value = curl_off_t(0)
        bridge_curl_get_size(pointer, CURLINFO_SIZE_UPLOAD_T, &value)
        return Int(value)
    }

    private func integer(_ info: CURLINFO) -> Int {
        var value = 0
        bridge_curl_get_long(pointer, info, &value)
        return value
    }

    /// Sets all options for the transfer, which must outlive the handle's use. Throws `internalFault` if libcurl does
    /// not know an option or is out of memory.
    func prepare(_ transfer: CurlTransfer, _ configuration: CurlConfiguration) throws(TransportError) {
        var setter = OptionSetter(handle: pointer)
        setter.setEndpoint(transfer.request.url, configuration)
        setter.setProtocol(transfer.request)
        setter.setBody(transfer.request)
        setter.setCallbacks(transfer, errorText)
        headerList = Self.list(transfer.request)
        setter.results.append(bridge_curl_set_headers(pointer, headerList))
        guard headerList != nil, setter.results.allSatisfy({ $0 == CURLE_OK }) else {
            throw TransportError(.internalFault, at: transfer.request.url.host, "libcurl rejected an option")
        }
    }

    /// Builds libcurl's header list. `Name;` sends an empty value, `Name:` suppresses libcurl's own header. Returns
    /// `nil` if memory runs out, because a request must not be sent with only some of its headers.
    private static func list(_ request: HTTPRequest) -> UnsafeMutablePointer<curl_slist>? {
        var lines = request.headers.fields.map { field in
            field.value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
                ? "\(field.name);" : "\(field.name): \(field.value)"
        }
        lines.append("Expect:")
        if request.headers["Content-Type"] == nil { lines.append("Content-Type:") }
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let extended = curl_slist_append(list, line) else {
                curl_slist_free_all(list)
                return nil
            }
            list = extended
        }
        return list
    }
}

/// Sets options on a handle and collects the result codes, so that they can be checked together.
private struct OptionSetter {
    /// Each exchange in flight has a buffer of this size. libcurl's default is 16 KB.
    private static let receiveBufferBytes = 4 << 10
    /// Each exchange in flight over TLS has a buffer of this size, too, and copies the request into it. libcurl's
    /// default is 64 KB, and this is the least that it allows.
    private static let uploadBufferBytes = 16 << 10

    let handle: UnsafeMutableRawPointer
    var results: [CURLcode] = []

    private mutating func set(_ option: CURLoption, _ value: Int) {
        results.append(bridge_curl_set_long(handle, option, value))
    }

    /// - Parameter value: `nil` removes the default.
    private mutating func set(_ option: CURLoption, _ value: String?) {
        results.append(bridge_curl_set_text(handle, option, value))
    }

    /// Sets the URL, the trusted certificates and the proxy.
    mutating func setEndpoint(_ url: HTTPURL, _ configuration: CurlConfiguration) {
        set(CURLOPT_URL, url.text)
        set(CURLOPT_PROTOCOLS_STR, url.isSecure ? "https" : "http")
        set(CURLOPT_USERAGENT, configuration.userAgent)
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let caFile = configuration.caFile {
            set(CURLOPT_CAINFO, caFile)
            // Otherwise the CA directory that was compiled into libcurl remains trusted too.
            set(CURLOPT_CAPATH, nil)
        }
        if url.isLoopback {
            set(CURLOPT_PROXY, "")  // overrides the environment
        } else if case .url(let proxy) = configuration.proxy {
            set(CURLOPT_PROXY, proxy)
            set(CURLOPT_NOPROXY, "")
        } else if configuration.proxy == .direct {
            set(CURLOPT_PROXY, "")
        }
    }

    /// Sets the HTTP version, the connect timeout, the size limit and TCP options.
    mutating func setProtocol(_ request: HTTPRequest) {
        // Requests with a body use HTTP/1.1, because libcurl before 8.0 spins while the peer's HTTP/2 window is full.
        // A GET has an HTTP/2 connection of its own: with several streams, 0.4 to 0.8 % of 100,000 requests failed when
        // nginx or Node ended a connection under load (libcurl 7.88.1, November 2026); with one at a time none did.
        let isUpload = request.method != .get
        set(CURLOPT_HTTP_VERSION, Int(isUpload ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS))
        set(CURLOPT_FOLLOWLOCATION, 0)
        // libcurl would accept gzip data without its end, which has its checksum: see `ResponseBody`.
        set(CURLOPT_ACCEPT_ENCODING, "gzip")
        set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_NOSIGNAL, 1)
        // Without it, removing a handle whose host name is still being resolved blocks the whole thread until the
        // resolver returns. With it, the resolver's thread is detached and frees its memory when it ends.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(request.connectTimeout / .milliseconds(1))))
        results.append(
            bridge_curl_set_size(handle, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(request.maximumResponseBytes)))
        set(CURLOPT_BUFFERSIZE, Self.receiveBufferBytes)
        set(CURLOPT_UPLOAD_BUFFERSIZE, Self.uploadBufferBytes)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_TCP_KEEPIDLE, 30)
        set(CURLOPT_TCP_KEEPINTVL, 10)
        results.append(bridge_curl_set_socket_callback(handle, limitUnacknowledged))
    }

    /// libcurl sends the length of a body in memory. For an empty body it sends `Content-Length: 0`.
    mutating func setBody(_ request: HTTPRequest) {
        guard request.method != .get else { return set(CURLOPT_HTTPGET, 1) }
        set(CURLOPT_POST, 1)
        if request.method != .post { set(CURLOPT_CUSTOMREQUEST, request.method.rawValue) }
        results.append(bridge_curl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count)))
        // The bytes of an array keep their address while the array exists and is not changed. The transfer holds this
        // constant array until its handle has been removed from the multi handle and reset.
        results.append(request.body.withUnsafeBytes { bridge_curl_set_body(handle, $0.isEmpty ? nil : $0.baseAddress) })
    }

    mutating func setCallbacks(_ transfer: CurlTransfer, _ errorText: UnsafeMutablePointer<CChar>) {
        let context = Unmanaged.passUnretained(transfer).toOpaque()
        results += [
            bridge_curl_set_write_callback(handle, CURLOPT_WRITEFUNCTION, CurlCallbacks.body),
            bridge_curl_set_pointer(handle, CURLOPT_WRITEDATA, context),
            bridge_curl_set_write_callback(handle, CURLOPT_HEADERFUNCTION, CurlCallbacks.headerLine),
            bridge_curl_set_pointer(handle, CURLOPT_HEADERDATA, context),
            bridge_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText),
            bridge_curl_set_ready_callback(handle, CurlCallbacks.connected),
            bridge_curl_set_pointer(handle, CURLOPT_PREREQDATA, context),
        ]
    }
}

/// The TLS sessions of one event loop. libcurl 7.88 otherwise keeps them in each handle, so that the connections of a
/// cold start could not resume each other's.
final class CurlSessions {
    fileprivate let share: UnsafeMutableRawPointer

    init?() {
        guard let share = curl_share_init() else { return nil }
        guard bridge_curl_share_sessions(share) == CURLSHE_OK else {
            curl_share_cleanup(share)
            return nil
        }
        self.share = share
    }

    deinit {
        curl_share_cleanup(share)
    }
}

/// Closes a connection if the peer acknowledges nothing for 20 seconds (TCP_USER_TIMEOUT).
///
/// Otherwise a connection that died silently stays in the pool for the kernel's limit of about 15 minutes. If it uses
/// HTTP/2, every further request on it fails too.
private let limitUnacknowledged: curl_sockopt_callback = { _, socket, _ in
    #if os(Linux)
        var milliseconds: Int32 = 20_000
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, socklen_t(MemoryLayout<Int32>.size))
    #endif
    return CURL_SOCKOPT_OK
}
