import Foundation
import HTTPTypes
import Hummingbird
package import Logging
import Synchronization

/// The name of one request: in every log line that is about it, and in its answer.
enum RequestIdentifier {
    /// Of the request that this task works for.
    @TaskLocal static var current: String?

    /// Bytes of a name that somebody else gave.
    private static let maximumBytes = 128
    private static let digits = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
    /// Of this process.
    private static let prefix = (0..<6).map { _ in digits[Int.random(in: 0..<32)] }
    private static let count = Atomic<UInt64>(0)

    /// The sender's own, where it is short and plain; else a new one.
    static func of(_ request: Request) -> String {
        guard let name = request.headers[.requestIdentifier], isPlain(name) else { return next() }
        return name
    }

    /// Letters, digits and `-._:=+/`; several in one request come with a comma between them and are not plain.
    private static func isPlain(_ name: String) -> Bool {
        (1...maximumBytes).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-._:=+/".utf8.contains(byte)
                }
            }
    }

    /// Fourteen characters, which Swift keeps without memory of their own; no other process and no other request has
    /// them.
    private static func next() -> String {
        var rest = count.wrappingAdd(1, ordering: .relaxed).newValue
        return String(unsafeUninitializedCapacity: 14) { bytes in
            for place in 0..<6 { bytes[place] = prefix[place] }
            for place in (6..<14).reversed() {
                bytes[place] = digits[Int(rest & 31)]
                rest >>= 5
            }
            return 14
        }
    }
}

extension HTTPField.Name {
    /// `X-Request-Id`
    static let requestIdentifier = HTTPField.Name.known("X-Request-Id")

    /// A name that is spelled in this program.
    static func known(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is no field name") }
        return name
    }
}

extension Logger.MetadataProvider {
    /// `requestId`, in lines about a request.
    package static let request = Self { RequestIdentifier.current.map { ["requestId": "\($0)"] } ?? [:] }
}
