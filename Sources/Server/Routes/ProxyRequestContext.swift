import ReceiptBridgeBase
import Hummingbird
import NIOCore
import ReceiptBridgeResponses
import Synchronization
import ReceiptBridgeCore
import Foundation
import HTTPTypes
package import Logging

/// The context of a request: Hummingbird's context, the connection of the request and the outcome of the request.
struct ProxyRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    /// Shared by all copies of the context.
    let outcome = RequestOutcome()

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}

/// The outcome of a request, which its route reports to the middleware around it.
final class RequestOutcome: Sendable {
    private let verdict = Atomic<Int>(-1)

    /// The `status` of the verifyReceipt response; `nil` for other responses.
    var status: Int? {
        let status = verdict.load(ordering: .relaxed)
        return status < 0 ? nil : status
    }

    func record(_ reply: SourcedAnswer) { verdict.store(reply.answer.status.rawValue, ordering: .relaxed) }
}

/// The id of one request. Every log line about the request has it as `requestId`, and its response as `X-Request-Id`.
enum RequestIdentifier {
    @TaskLocal static var current: String?

    /// Longest id in bytes that is accepted from a client.
    private static let maximumBytes = 128
    /// The digits of base 32 (Crockford's alphabet, in lower case).
    private static let digits = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
    private static let prefix = (0..<6).map { _ in digits[Int.random(in: 0..<32)] }
    private static let count = Atomic<UInt64>(0)

    /// Returns the id that the client sent if it is short and contains only plain characters; otherwise a new id.
    static func of(_ request: Request) -> String {
        guard let name = request.headers[.requestIdentifier], isPlain(name) else { return next() }
        return name
    }

    /// Letters, digits and `-._:=+/`. Several headers are joined with a comma, so they are not plain.
    private static func isPlain(_ name: String) -> Bool {
        (1...maximumBytes).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-._:=+/".utf8.contains($0) }
    }

    /// For example `k3v9qz00000001`. Fourteen characters fit into a Swift string without an allocation.
    private static func next() -> String {
        var rest = count.wrappingAdd(1, ordering: .relaxed).newValue
        return String(unsafeUninitializedCapacity: 14) { bytes in
            for index in 0..<6 { bytes[index] = prefix[index] }
            for index in (6..<14).reversed() {
                bytes[index] = digits[Int(rest & 31)]
                rest >>= 5
            }
            return 14
        }
    }
}

extension HTTPField.Name {
    static let requestIdentifier = HTTPField.Name.literal("X-Request-Id")

    /// Returns a header name that is spelled out in this program, and therefore valid.
    static func literal(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is not a valid header name") }
        return name
    }
}

extension Logger.MetadataProvider {
    /// Adds `requestId` to log lines about a request.
    package static let request = Self { RequestIdentifier.current.map { ["requestId": "\($0)"] } ?? [:] }
}
