import ReceiptBridgeBase

/// HTTP header fields in the order they were received or set. Names are compared without regard to case.
package struct HTTPHeaders: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    package struct Field: Sendable, Equatable {
        /// The name as written.
        package let name: String
        /// The value without leading and trailing whitespace.
        package let value: String
    }

    /// All fields, including repeated ones.
    package private(set) var fields: [Field] = []

    package init() {}

    /// The fields keep their order.
    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { append(name, value) }
    }

    /// The value of the first field with this name, or `nil` if there is none.
    package subscript(_ name: String) -> String? { fields.first { Self.isSame($0.name, name) }?.value }

    /// The elements of all fields with this name, in lowercase (RFC 9110, 5.6.1).
    func list(_ name: String) -> [String] {
        let fields = fields.filter { Self.isSame($0.name, name) }
        return fields.flatMap { $0.value.lowercased().split { ", \t".contains($0) }.map(String.init) }
    }

    /// Compares names byte by byte. Only ASCII letters are folded, because header names are ASCII.
    private static func isSame(_ first: String, _ second: String) -> Bool {
        first.utf8.count == second.utf8.count
            && zip(first.utf8, second.utf8).allSatisfy { $0 == $1 || lowercased($0) == lowercased($1) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    /// Appends a field.
    package mutating func append(_ name: String, _ value: String) { fields.append(Field(name: name, value: value)) }
}

extension HTTPHeaders {
    /// Header names that only the transport may set, because they decide how a message is framed, encoded or routed.
    ///
    /// For example, a caller that could set `Content-Length` could smuggle a second request into the connection.
    private static let reserved: Set<String> = [
        "accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
    ]

    /// Returns the first field that may not be sent and the reason, or `nil` if all fields are allowed.
    func firstRejected() -> (name: String, reason: String)? {
        for field in fields {
            guard !field.name.isEmpty, field.name.utf8.allSatisfy(Self.isTokenByte) else {
                return ("-", "a header name is not a valid token")
            }
            guard field.value.utf8.allSatisfy({ $0 == 0x09 || (0x20...0x7E).contains($0) }) else {
                return (field.name, "the value of \(field.name) has a line break or another control character")
            }
            guard !Self.reserved.contains(field.name.lowercased()) else {
                return (field.name, "\(field.name) is set by the transport and cannot be overridden")
            }
        }
        return nil
    }

    /// `tchar` of RFC 9110 §5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
}
