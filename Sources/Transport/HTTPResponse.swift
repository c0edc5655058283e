/// A complete HTTP response with any status. A redirect is returned as it is and never followed.
package struct HTTPResponse: Sendable {
    /// The HTTP status code.
    package let status: Int
    /// The headers of the final response, without those of interim (1xx) responses or of a proxy's CONNECT response.
    package let headers: HTTPHeaders
    /// The body. If the server compressed it with gzip, it is decoded.
    package let body: [UInt8]

    /// Creates a response. Test transports use this too.
    package init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
