import ReceiptBridgeCCurl

/// The state of one exchange while libcurl works on it. The callbacks write the response into it.
///
/// Used only on the event loop's thread, which keeps it alive until its handle is removed from the multi handle.
final class CurlTransfer {
    /// Maximum size in bytes of all header lines of a response together. libcurl limits only a single line.
    static let maximumHeaderBytes = 128 << 10

    let submission: CurlCommandQueue.Submission
    let handle: CurlHandle
    let started: ContinuousClock.Instant
    private let whenConnected: CurlConnected
    private(set) var headers = HTTPHeaders()
    private(set) var body: ResponseBody
    private var headerBytes = 0

    init(
        _ submission: CurlCommandQueue.Submission, _ handle: CurlHandle, at started: ContinuousClock.Instant,
        _ whenConnected: CurlConnected, _ memory: (any ResponseMemory)?
    ) {
        (self.submission, self.handle) = (submission, handle)
        (self.started, self.whenConnected) = (started, whenConnected)
        let request = submission.request
        body = ResponseBody(limit: request.maximumResponseBytes, memory, decodes: !request.isDelivery)
    }

    var request: HTTPRequest { submission.request }

    /// The time that the host had for its response; `nil` if only part of the body was sent.
    func timeAtHost(until now: ContinuousClock.Instant) -> Duration? {
        let sent = handle.sentBytes
        return sent > 0 && sent < request.body.count ? nil : started.duration(to: now)
    }

    func connected() { whenConnected.exchanges.append(submission.id) }

    /// Adds a part of the body. Returns false to end the transfer.
    func receive(body bytes: UnsafeRawBufferPointer) -> Bool { body.receive(bytes, of: headers) }

    /// Adds a header line. Returns false to end the transfer. A status line starts the next response, which means
    /// that the headers before it belonged to an interim (1xx) one.
    func receive(headerLine bytes: UnsafeRawBufferPointer) -> Bool {
        headerBytes += bytes.count
        guard headerBytes <= Self.maximumHeaderBytes else { return body.fail(.tooLarge) }
        guard !body.hasBegun else { return true }  // trailers
        if bytes.starts(with: "HTTP/".utf8) {
            headers = HTTPHeaders()
        } else if let colon = bytes.firstIndex(of: UInt8(ascii: ":")) {
            headers.append(text(bytes[..<colon]), text(bytes[(colon + 1)...]))
        }
        return true
    }

    private func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
        let start = bytes.firstIndex { !isBlank($0) } ?? bytes.endIndex
        let end = bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }
}

/// The exchanges whose connection has become ready since the event loop looked last.
final class CurlConnected {
    var exchanges: [ExchangeSchedule.ID] = []
}

/// The callbacks of a libcurl handle. They run on the event loop's thread inside `curl_multi_socket_action`. The
/// context is the unretained ``CurlTransfer``.
enum CurlCallbacks {
    static let connected: curl_prereq_callback = { context, _, _, _, _ in
        if let context { Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().connected() }
        return CURL_PREREQFUNC_OK
    }

    static let body: curl_write_callback = { bytes, size, count, context in
        deliver(bytes, size * count, context) { $0.receive(body: $1) }
    }

    static let headerLine: curl_write_callback = { bytes, size, count, context in
        deliver(bytes, size * count, context) { $0.receive(headerLine: $1) }
    }

    /// Returns the number of bytes consumed. libcurl ends the transfer if it differs from the number given. `count +
    /// 1` always differs; 0 would not if the chunk were empty.
    private static func deliver(
        _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
        to receive: (CurlTransfer, UnsafeRawBufferPointer) -> Bool
    ) -> Int {
        guard let context else { return count + 1 }
        let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
        return receive(transfer, UnsafeRawBufferPointer(start: bytes, count: count)) ? count : count + 1
    }
}
