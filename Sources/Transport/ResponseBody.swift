/// The body of a response while it arrives: decoded, within its limit, and within the memory for responses.
struct ResponseBody {
    /// The reason why a body is not read to its end.
    enum Failure {
        case tooLarge, noMemory

        func error(at host: String, limit: Int) -> TransportError {
            switch self {
            case .tooLarge: TransportError(.responseTooLarge, at: host, "the response is larger than \(limit) bytes")
            case .noMemory: TransportError(.noMemory, at: host, "the memory for responses is used up")
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

    /// - Parameters:
    ///   - limit: The maximum size in bytes, decoded.
    ///   - memory: `nil` if the memory is not limited.
    init(limit: Int, _ memory: (any ResponseMemory)?) {
        self.limit = limit
        self.memory = memory.map { ResponseReservation($0) }
    }

    /// Ends the body. Returns false.
    mutating func fail(_ failure: Failure) -> Bool {
        self.failure = failure
        return false
    }

    /// Adds a decoded part. Returns false if the body is not to be read further.
    ///
    /// - Parameter headers: Those of the response.
    mutating func receive(_ part: UnsafeRawBufferPointer, of headers: HTTPHeaders) -> Bool {
        if !hasBegun {
            hasBegun = true
            // Compressed data says nothing about its size. Without a hint, the capacity grows by doubling.
            let length = headers["Content-Encoding"] == nil ? headers["Content-Length"].flatMap(Int.init) : nil
            announced = length.map { max($0, 0) } ?? limit
        }
        return append(part)
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
