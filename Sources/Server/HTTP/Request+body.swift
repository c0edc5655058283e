import HTTPTypes
import Hummingbird
import NIOCore

/// What came of reading a request's body. It is read to its end in any case, for a client that is still sending does not read
/// the answer; what is not used holds no memory.
enum RequestBodyResult: Sendable {
    case whole([UInt8])
    case tooLong
    /// All bodies together use their allowance.
    case noRoom
}

extension Request {
    /// - Parameter share: counts the bytes as they arrive, and is released if the body is not returned.
    func body(
        upTo maximum: Int = VerifyReceiptController.maximumBodyBytes, counting share: RequestBodyReservation
    ) async throws -> RequestBodyResult {
        let announced = headers[.contentLength].flatMap { Int($0) } ?? maximum
        var whole: [UInt8] = []
        var received = 0
        var isHeld = true
        for try await buffer in body {
            received += buffer.readableBytes
            guard received <= VerifyReceiptController.drainedBodyBytes else { return .tooLong }
            guard isHeld else { continue }
            if received <= maximum, share.reserve(buffer.readableBytes) {
                whole.grow(to: received, atMost: announced)
                whole.append(contentsOf: buffer.readableBytesView)
            } else {
                isHeld = false
                share.release()
                whole = []
            }
        }
        guard received <= maximum else { return .tooLong }
        return isHeld && share.complete() ? .whole(whole) : .noRoom
    }

    /// Whether the body is compressed or otherwise not what it is.
    var hasEncodedBody: Bool { headers[.contentEncoding].map { $0.lowercased() != "identity" } ?? false }
}

extension [UInt8] {
    /// Makes room for so many bytes by doubling, which ends at the announced size: memory is used for what came, not for what
    /// was announced.
    fileprivate mutating func grow(to count: Int, atMost announced: Int) {
        guard count > capacity else { return }
        reserveCapacity(Swift.max(count, Swift.min(announced, capacity * 2)))
    }
}

extension RequestBodyBudget {
    /// Seconds, by which the slowest uploads have ended.
    static let retryAfter = "5"

    static var refusal: Response {
        var response = ProblemDetails.noRoom.response
        response.headers[.retryAfter] = retryAfter
        return response
    }

    /// A share for the body that comes in on this connection, which is closed when another body needs the room.
    func share(on channel: any Channel) -> RequestBodyReservation {
        share { channel.close(mode: .all, promise: nil) }
    }
}
