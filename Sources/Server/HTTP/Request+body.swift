import HTTPTypes
import Hummingbird

extension Request {
    /// The whole body, or nil where it is too long.
    func wholeBody(upTo maximum: Int = VerifyReceiptController.maximumBodyBytes) async throws -> [UInt8]? {
        var whole: [UInt8] = []
        if let length = headers[.contentLength].flatMap({ Int($0) }), length <= maximum {
            whole.reserveCapacity(max(length, 0))
        }
        var received = 0
        for try await buffer in body {
            received += buffer.readableBytes
            if received <= maximum {
                whole.append(contentsOf: buffer.readableBytesView)
            } else if received > VerifyReceiptController.drainedBodyBytes {
                return nil
            } else {
                whole = []
            }
        }
        return received <= maximum ? whole : nil
    }

    /// Whether the body is compressed or otherwise not what it is.
    var hasEncodedBody: Bool { headers[.contentEncoding].map { $0.lowercased() != "identity" } ?? false }
}
