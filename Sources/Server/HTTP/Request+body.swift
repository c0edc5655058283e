import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// The reason why a request's body is not used. The body is read to its end in every case, because a client that is
/// still sending does not read the response. Bytes that are not needed are discarded.
enum RequestBodyRefusal: Error {
    /// The body has a content coding, for example gzip.
    case encoded
    case tooLong(maximum: Int)
    case noRoom

    var response: Response {
        switch self {
        case .encoded: return ProblemDetails.encodedBody.closingResponse
        case .tooLong(let maximum): return ProblemDetails.bodyTooLarge(maximum: maximum).closingResponse
        case .noRoom:
            var response = ProblemDetails.noRoom.response
            response.headers[.retryAfter] = RequestBodyBudget.retryAfter
            return response
        }
    }
}

/// A body that is handed over once: while Apple is called, nothing refers to it.
final class RequestBodyHandover: Sendable {
    private let stored: Mutex<[UInt8]>

    init(_ bytes: [UInt8]) { stored = Mutex(bytes) }

    var bytes: [UInt8] { stored.withLock { $0 } }

    func take() -> [UInt8] {
        stored.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
    }
}

extension Request {
    /// - Parameters:
    ///   - maximum: The longest body to return, in bytes.
    ///   - reservation: Counts the bytes as they arrive. It is released if the body is not returned.
    func body(
        upTo maximum: Int = VerifyReceiptController.maximumBodyBytes, counting reservation: RequestBodyReservation
    ) async throws -> Result<[UInt8], RequestBodyRefusal> {
        let refusal: RequestBodyRefusal =
            ["", "identity"].contains(headers[.contentEncoding]?.lowercased() ?? "")
            ? .tooLong(maximum: maximum) : .encoded
        let announced = headers.first { $0.name == .contentLength }.flatMap { Int($0.value) } ?? maximum
        var whole: [UInt8] = []
        var received = 0
        var isKept = true
        for try await buffer in body {
            received += buffer.readableBytes
            guard received <= VerifyReceiptController.drainedBodyBytes else { return .failure(refusal) }
            guard isKept else { continue }
            if received <= maximum, reservation.reserve(buffer.readableBytes) {
                whole.grow(to: received, atMost: announced)
                whole.append(contentsOf: buffer.readableBytesView)
            } else {
                isKept = false
                reservation.release()
                whole = []
            }
        }
        if case .encoded = refusal { return .failure(refusal) }
        guard received <= maximum else { return .failure(refusal) }
        guard isKept, reservation.complete() else { return .failure(.noRoom) }
        return .success(whole)
    }
}

extension [UInt8] {
    /// Reserves capacity for `count` bytes by doubling, up to the announced size. So memory grows with the bytes that
    /// arrived, not with the length that a client announces.
    fileprivate mutating func grow(to count: Int, atMost announced: Int) {
        guard count > capacity else { return }
        reserveCapacity(Swift.max(count, Swift.min(announced, capacity * 2)))
    }
}

extension RequestBodyBudget {
    /// Value of `Retry-After` in seconds. After this time the slowest uploads have ended.
    static let retryAfter = "5"

    /// If another body needs the memory, the connection is closed.
    func reservation(on channel: any Channel) -> RequestBodyReservation {
        reservation { channel.close(mode: .all, promise: nil) }
    }
}
