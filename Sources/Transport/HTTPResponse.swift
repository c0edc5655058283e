/// A complete response of whatever status; redirects come back as they are and are never followed.
package struct HTTPResponse: Sendable {
    /// The status code.
    package let status: Int
    /// The headers of the final response, not those of interim ones or of a proxy.
    package let headers: HTTPHeaders
    /// The body byte for byte: no compression is asked for and none is undone.
    package let body: [UInt8]

    /// A response; stand-in transports make theirs with this too.
    package init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
