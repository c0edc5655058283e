import Foundation

/// An error that is no verdict on a receipt, as RFC 9457 has it: with a code that stays the same.
struct Problem: Sendable, Encodable {
    static let contentType = "application/problem+json"

    let type = "about:blank"
    let title: String
    let status: Int
    let code: String
    let detail: String

    static let bodyTooLarge = Problem(
        title: "Content Too Large", status: 413, code: "bodyTooLarge", detail: "a request is at most 3145728 bytes")
    static let encodedBody = Problem(
        title: "Unsupported Media Type", status: 415, code: "encodedBody",
        detail: "a request comes without Content-Encoding")
    static let notFound = Problem(title: "Not Found", status: 404, code: "notFound", detail: "nothing is here")

    /// UTF-8.
    var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { [UInt8]($0) } ?? []
    }
}
