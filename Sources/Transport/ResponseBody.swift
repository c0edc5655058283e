/// The body of a response while it arrives: decoded, within its limit, and within the memory for responses.
struct ResponseBody {
    /// The reason why a body is not read to its end.
    enum Failure {
        case tooLarge, noMemory
        /// It has a content coding other than gzip.
        case unknownCoding
        /// It is not what its content coding says.
        case damaged

        func error(at host: String, limit: Int) -> TransportError {
            switch self {
            case .tooLarge: TransportError(.responseTooLarge, at: host, "the response is larger than \(limit) bytes")
            case .noMemory: TransportError(.noMemory, at: host, "the memory for responses is used up")
            case .unknownCoding: TransportError(.protocolError, at: host, "the body has an unknown content coding")
            case .damaged: TransportError(.protocolError, at: host, "the compressed body is damaged")
            }
        }
    }

    /// The smallest buffer. Most responses are of some kilobytes.
    private static let initialCapacity = 32 << 10

    private(set) var bytes: [UInt8] = []
    private(set) var failure: Failure?
    /// Whether a part has arrived.
    private(set) var hasBegun = false
    let memory: ResponseReservation?
    private let limit: Int
    /// The expected size, from `Content-Length`. Used only as a hint, because it may be wrong.
    private var announced = 0
    /// `nil` if the body has no content coding.
    private var decoder: GzipDecoder?

    /// - Parameters:
    ///   - limit: The maximum size in bytes, decoded.
    ///   - memory: `nil` if the memory is not limited.
    init(limit: Int, _ memory: (any ResponseMemory)?) {
        self.limit = limit
        self.memory = memory.map { ResponseReservation($0) }
    }

    /// False if compressed data ends within a member, of which the checksum and the length are the end.
    var isComplete: Bool { decoder?.isAtEnd ?? true }

    /// Ends the body. Returns false.
    mutating func fail(_ failure: Failure) -> Bool {
        self.failure = failure
        return false
    }

    /// Adds a part. Returns false if the body is not to be read further.
    ///
    /// - Parameter headers: Those of the response.
    mutating func receive(_ part: UnsafeRawBufferPointer, of headers: HTTPHeaders) -> Bool {
        if !hasBegun, !begin(headers) { return fail(.unknownCoding) }
        guard let decoder else { return append(part) }
        switch decoder.decode(part, to: { append($0) }) {
        case .decoded: return true
        case .damaged: return fail(.damaged)
        case .refused: return false
        }
    }

    /// Prepares for the content coding. Returns false if it is unknown.
    private mutating func begin(_ headers: HTTPHeaders) -> Bool {
        hasBegun = true
        switch headers["Content-Encoding"]?.lowercased() ?? "" {
        case "", "identity":
            // Without it, the capacity grows by doubling.
            announced = headers["Content-Length"].flatMap(Int.init).map { max($0, 0) } ?? limit
        case "gzip", "x-gzip":
            announced = limit
            decoder = GzipDecoder()
            return decoder != nil
        default: return false
        }
        return true
    }

    private mutating func append(_ part: UnsafeRawBufferPointer) -> Bool {
        let size = bytes.count + part.count
        guard size <= limit else { return fail(.tooLarge) }
        if size > bytes.capacity {
            let expected = announced < size ? limit : min(announced, limit)
            let capacity = max(size, min(expected, max(2 * bytes.capacity, Self.initialCapacity)))
            guard memory?.grow(to: capacity) ?? true else { return fail(.noMemory) }
            bytes.reserveCapacity(capacity)
        }
        bytes.append(contentsOf: part)
        return true
    }
}
