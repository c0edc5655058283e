import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// One easy handle: a request's options, ready to be handed to the multi handle. Used again after `reset`.
///
/// Stays on the driver's thread.
final class CurlHandle {
    let pointer: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private var headerList: UnsafeMutablePointer<curl_slist>?

    /// Nil when libcurl has no memory.
    init?() {
        guard let pointer = curl_easy_init() else { return nil }
        self.pointer = pointer
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(pointer)
        curl_slist_free_all(headerList)
        errorText.deallocate()
    }

    /// Forgets the request; what the multi handle caches (connections, names, sessions) stays.
    func reset() {
        curl_easy_reset(pointer)
        curl_slist_free_all(headerList)
        headerList = nil
        errorText.pointee = 0
    }

    /// libcurl's words about the failure, without what is not printable.
    var failureText: String? {
        let text = String(cString: errorText).unicodeScalars.filter { (0x20...0x7E).contains($0.value) }
        return text.isEmpty ? nil : String(String.UnicodeScalarView(text.prefix(200)))
    }

    var status: Int { number(CURLINFO_RESPONSE_CODE) }

    /// What a proxy said to CONNECT; 0 without a proxy.
    var proxyStatus: Int { number(CURLINFO_HTTP_CONNECTCODE) }

    /// Bytes of the body that went out.
    var sentBytes: Int {
        var value = curl_off_t(0)
        bridge_curl_get_size(pointer, CURLINFO_SIZE_UPLOAD_T, &value)
        return Int(value)
    }

    private func number(_ info: CURLINFO) -> Int {
        var value = 0
        bridge_curl_get_long(pointer, info, &value)
        return value
    }

    /// Sets everything for the transfer, which has to outlive its use; throws when libcurl does not know an option or has no memory.
    func prepare(_ transfer: CurlTransfer, _ configuration: CurlConfiguration) throws(TransportError) {
        var setter = OptionSetter(pointer)
        setter.setEndpoint(transfer.request.url, configuration)
        setter.setProtocol(transfer.request)
        setter.setBody(transfer.request)
        setter.setCallbacks(transfer, errorText)
        headerList = Self.list(transfer.request)
        setter.results.append(bridge_curl_set_headers(pointer, headerList))
        guard headerList != nil, setter.results.allSatisfy({ $0 == CURLE_OK }) else {
            throw TransportError(.internalFault, at: transfer.request.url.host, "libcurl refuses an option")
        }
    }

    /// `Name;` is libcurl's way to send an empty value, `Name:` its way to send none of its own. Nil when there is no
    /// memory for all of them: a request must not go out with some.
    private static func list(_ request: HTTPRequest) -> UnsafeMutablePointer<curl_slist>? {
        var lines = request.headers.fields.map { field in
            field.value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
                ? "\(field.name);" : "\(field.name): \(field.value)"
        }
        lines.append("Expect:")
        if request.headers["Content-Type"] == nil { lines.append("Content-Type:") }
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = curl_slist_append(list, line) else {
                curl_slist_free_all(list)
                return nil
            }
            list = longer
        }
        return list
    }
}

private struct OptionSetter {
    let handle: UnsafeMutableRawPointer
    var results: [CURLcode] = []

    init(_ handle: UnsafeMutableRawPointer) {
        self.handle = handle
    }

    private mutating func set(_ option: CURLoption, _ value: Int) {
        results.append(bridge_curl_set_long(handle, option, value))
    }

    /// - Parameter value: nil removes the default.
    private mutating func set(_ option: CURLoption, _ value: String?) {
        results.append(bridge_curl_set_text(handle, option, value))
    }

    mutating func setEndpoint(_ url: HTTPURL, _ configuration: CurlConfiguration) {
        set(CURLOPT_URL, url.text)
        set(CURLOPT_PROTOCOLS_STR, url.isSecure ? "https" : "http")
        set(CURLOPT_USERAGENT, configuration.userAgent)
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let caFile = configuration.caFile {
            set(CURLOPT_CAINFO, caFile)
            // Otherwise the folder that libcurl was built with stays trusted too.
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

    mutating func setProtocol(_ request: HTTPRequest) {
        // A body goes by HTTP/1.1: where the peer's HTTP/2 window is full, libcurl before 8.0 spins until it opens.
        let isUpload = request.method != .get
        set(CURLOPT_HTTP_VERSION, Int(isUpload ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS))
        set(CURLOPT_FOLLOWLOCATION, 0)
        // Decoded by libcurl piece by piece; the limit of a response is on what comes out.
        set(CURLOPT_ACCEPT_ENCODING, "gzip")
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_NOSIGNAL, 1)
        // Without it, taking back a handle whose name is still being resolved waits for the resolver, and with it the
        // whole thread; the resolver's thread is let go and frees its memory when it ends.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(request.connectTimeout / .milliseconds(1))))
        results.append(
            bridge_curl_set_size(handle, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(request.maximumResponseBytes)))
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_TCP_KEEPIDLE, 30)
        set(CURLOPT_TCP_KEEPINTVL, 10)
        results.append(bridge_curl_set_socket_callback(handle, limitUnacknowledged))
    }

    /// A body in memory makes libcurl send its length; an empty one too, as `Content-Length: 0`.
    mutating func setBody(_ request: HTTPRequest) {
        guard request.method != .get else { return set(CURLOPT_HTTPGET, 1) }
        set(CURLOPT_POST, 1)
        if request.method != .post { set(CURLOPT_CUSTOMREQUEST, request.method.rawValue) }
        results.append(bridge_curl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count)))
        // The bytes of an array stay at their address for as long as the array lives and is not changed. The transfer keeps
        // this one, a constant, until its handle is out of the multi handle and reset.
        results.append(
            request.body.withUnsafeBytes { bridge_curl_set_body(handle, $0.isEmpty ? nil : $0.baseAddress) })
    }

    mutating func setCallbacks(_ transfer: CurlTransfer, _ errorText: UnsafeMutablePointer<CChar>) {
        let context = Unmanaged.passUnretained(transfer).toOpaque()
        results += [
            bridge_curl_set_write_callback(handle, CURLOPT_WRITEFUNCTION, CurlCallbacks.body),
            bridge_curl_set_pointer(handle, CURLOPT_WRITEDATA, context),
            bridge_curl_set_write_callback(handle, CURLOPT_HEADERFUNCTION, CurlCallbacks.headerLine),
            bridge_curl_set_pointer(handle, CURLOPT_HEADERDATA, context),
            bridge_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText),
        ]
    }
}

/// Ends a connection whose peer acknowledges nothing for 20 seconds. Otherwise one that died silently stays in the pool
/// for the kernel's quarter of an hour, and an HTTP/2 one takes every further request with it.
private let limitUnacknowledged: curl_sockopt_callback = { _, socket, _ in
    #if os(Linux)
        var milliseconds: Int32 = 20_000
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, socklen_t(MemoryLayout<Int32>.size))
    #endif
    return CURL_SOCKOPT_OK
}
