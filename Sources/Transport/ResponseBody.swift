import ReceiptBridgeBase

/// The body of a response while it arrives: decoded, within its limit, and within the memory for responses.
struct ResponseBody {
    /// The reason why a body is not read to its end, or not used.
    enum Failure {
        case tooLarge, noMemory
        /// The gzip data ends early, although the message is complete.
        case truncated
        case damaged, unknownCoding

        func error(at host: String, limit: Int) -> TransportError {
            switch self {
            case .tooLarge: TransportError(.responseTooLarge, at: host, "the response is larger than \(limit) bytes")
            case .noMemory: TransportError(.noMemory, at: host, "the memory for responses is used up")
            case .truncated: TransportError(.truncated, at: host, "the gzip data of the response ends early")
            case .damaged: TransportError(.protocolError, at: host, "the gzip data of the response is damaged")
            case .unknownCoding: TransportError(.protocolError, at: host, "the response has a coding other than gzip")
            }
        }
    }

    /// The smallest buffer. Most responses are of some kilobytes.
    private static let initialCapacity = 32 << 10

    private(set) var bytes: [UInt8] = []
    private(set) var failure: Failure?
    private(set) var hasBegun = false
    let memory: ResponseReservation?
    private let limit: Int
    private let decodes: Bool
    /// The expected size, from `Content-Length`. Used only as a hint, because it may be wrong.
    private var announced = 0
    /// `nil` for a body without a coding.
    private var decoder: GzipDecoder?

    /// `limit` is the maximum size in bytes, decoded. The memory is not limited if it is `nil`. Content codings are
    /// undone if `decodes` is set.
    init(limit: Int, _ memory: (any ResponseMemory)?, decodes: Bool) {
        (self.limit, self.decodes) = (limit, decodes)
        self.memory = memory.map { ResponseReservation($0) }
    }

    /// Ends the body. Returns false.
    mutating func fail(_ failure: Failure) -> Bool {
        self.failure = failure
        return false
    }

    /// Adds a part of a response with these headers. Returns false if the body is not to be read further.
    mutating func receive(_ part: UnsafeRawBufferPointer, of headers: HTTPHeaders) -> Bool {
        if !hasBegun {
            hasBegun = true
            guard begin(headers) else { return fail(.unknownCoding) }
        }
        guard decoder == nil else { return decode(part) }
        guard makeRoom(for: bytes.count + part.count) else { return false }
        bytes.append(contentsOf: part)
        return true
    }

    /// Chooses the decoder. Returns false if there is none.
    private mutating func begin(_ headers: HTTPHeaders) -> Bool {
        // libcurl undoes transfer codings itself, and does not notice that gzip data is incomplete.
        guard headers.list("Transfer-Encoding").allSatisfy({ ["chunked", "identity"].contains($0) }) else {
            return false
        }
        switch decodes ? headers.list("Content-Encoding").filter({ $0 != "identity" }) : [] {
        case []: announced = headers["Content-Length"].flatMap(Int.init).map { max($0, 0) } ?? limit
        case ["gzip"], ["x-gzip"]:
            // Compressed data says nothing about its size. Without a hint, the capacity grows by doubling.
            announced = limit
            decoder = GzipDecoder()
        default: return false
        }
        return true
    }

    /// Decodes a part. The memory grows with what was decoded.
    private mutating func decode(_ part: UnsafeRawBufferPointer) -> Bool {
        decoder?.append(part)
        while true {
            switch decoder?.decode(into: &bytes, limit: min(bytes.capacity, limit)) {
            case .needsInput, nil: return true
            case .needsRoom: guard makeRoom(for: bytes.count + 1) else { return false }
            case .damaged: return fail(.damaged)
            }
        }
    }

    private mutating func makeRoom(for size: Int) -> Bool {
        guard size <= limit else { return fail(.tooLarge) }
        guard size > bytes.capacity else { return true }
        let expected = announced < size ? limit : min(announced, limit)
        let capacity = max(size, min(expected, max(2 * bytes.capacity, Self.initialCapacity)))
        guard memory?.grow(to: capacity) ?? true else { return fail(.noMemory) }
        bytes.reserveCapacity(capacity)
        return true
    }

    /// What is missing at the end of the message.
    var failureAtEnd: Failure? { decoder?.isComplete == false ? .truncated : nil }
}
