import CCurl

/// One exchange while libcurl works on it: what the callbacks write into.
///
/// Stays on the driver's thread, which keeps it alive until its handle is taken back.
final class CurlTransfer {
    /// All header lines of one response together; libcurl's own limit is for one line only.
    static let maximumHeaderBytes = 128 << 10

    let submission: CurlCommandQueue.Submission
    let handle: CurlHandle
    private(set) var headers = HTTPHeaders()
    private(set) var body: [UInt8] = []
    private(set) var isTooLarge = false
    private var headerBytes = 0

    init(_ submission: CurlCommandQueue.Submission, _ handle: CurlHandle) {
        self.submission = submission
        self.handle = handle
    }

    var request: HTTPRequest { submission.request }

    /// False ends the transfer.
    func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= request.maximumResponseBytes else {
            isTooLarge = true
            return false
        }
        if body.isEmpty { body.reserveCapacity(min(announcedLength, request.maximumResponseBytes, 1 << 20)) }
        body.append(contentsOf: bytes)
        return true
    }

    /// False ends the transfer. A status line begins the next response: an interim one came before.
    func receive(headerLine bytes: UnsafeRawBufferPointer) -> Bool {
        headerBytes += bytes.count
        guard headerBytes <= Self.maximumHeaderBytes else {
            isTooLarge = true
            return false
        }
        guard body.isEmpty else { return true }  // trailers
        if bytes.starts(with: "HTTP/".utf8) {
            headers = HTTPHeaders()
        } else if let colon = bytes.firstIndex(of: UInt8(ascii: ":")) {
            headers.append(text(bytes[..<colon]), text(bytes[(colon + 1)...]))
        }
        return true
    }

    /// What the server says it will send; only a hint for the buffer.
    private var announcedLength: Int { headers["Content-Length"].flatMap(Int.init).map { max($0, 0) } ?? 0 }

    private func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
        let start = bytes.firstIndex { !isBlank($0) } ?? bytes.endIndex
        let end = bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }
}

/// libcurl calls these on the driver's thread, inside `curl_multi_perform`; the context is the transfer, unretained.
enum CurlCallbacks {
    static let body: curl_write_callback = { bytes, size, count, context in
        deliver(bytes, size * count, context) { $0.receive(body: $1) }
    }

    static let headerLine: curl_write_callback = { bytes, size, count, context in
        deliver(bytes, size * count, context) { $0.receive(headerLine: $1) }
    }

    /// Any other count than the one given ends the transfer; 0 alone would not where 0 was given.
    private static func deliver(
        _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
        to receive: (CurlTransfer, UnsafeRawBufferPointer) -> Bool
    ) -> Int {
        guard let context else { return count + 1 }
        let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
        return receive(transfer, UnsafeRawBufferPointer(start: bytes, count: count)) ? count : count + 1
    }
}
