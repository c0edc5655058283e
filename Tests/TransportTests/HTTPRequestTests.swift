import Testing
import ReceiptBridgeTransport

@Suite("HTTP request validation")
struct HTTPRequestTests {
    private func refusal(
        _ method: HTTPMethod = .post, headers: HTTPHeaders = [:], body: [UInt8] = [], timeout: Duration = .seconds(1),
        limit: Int = 1
    ) -> TransportError.Code? {
        code { () throws(TransportError) in
            _ = try HTTPRequest(
                method: method, url: "https://example.com/?secret", headers: headers, body: body, timeout: timeout,
                maximumResponseBytes: limit)
        }
    }

    @Test(
        "A header value with a line break or control character is rejected",
        arguments: [
            "a\r\nEvil: yes", "a\nb", "a\rb", "a\u{0}b", "\u{7F}", "a\r\n\r\nGET / HTTP/1.1", "é",
        ])
    func headerValue(value: String) { #expect(refusal(headers: ["Authorization": value]) == .invalidRequest) }

    @Test("A header name that is not a token is rejected", arguments: ["", "A B", "A:", "A\r\nB", "Ä", "a@b"])
    func headerName(name: String) {
        var headers = HTTPHeaders()
        headers.append(name, "x")
        #expect(refusal(headers: headers) == .invalidRequest)
    }

    @Test(
        "Headers that frame or route the message cannot be set by the caller",
        arguments: [
            "Host", "content-length", "Transfer-Encoding", "EXPECT", "Accept-Encoding", "Connection", "User-Agent",
        ])
    func reserved(name: String) {
        var headers = HTTPHeaders()
        headers.append(name, "x")
        #expect(refusal(headers: headers) == .invalidRequest)
    }

    @Test("A GET with a body and limits that are not positive are rejected")
    func limits() {
        #expect(refusal(.get, body: [1]) == .invalidRequest)
        #expect(refusal(timeout: .zero) == .invalidRequest)
        #expect(refusal(timeout: .seconds(Int64.max)) == .invalidRequest)
        #expect(refusal(limit: 0) == .invalidRequest)
        #expect(refusal(headers: ["Authorization": "Bearer x", "X-Empty": ""]) == nil)
    }

    @Test("An error contains the host and nothing else of the URL")
    func place() {
        do throws(TransportError) {
            _ = try HTTPRequest(method: .get, url: "https://example.com/path?secret", headers: ["A": "secret\n"])
        } catch {
            #expect(
                error.description
                    == "invalidRequest: example.com: the value of A has a line break or another control character")
        }
    }

    @Test("Header lookup ignores case, and the first field counts")
    func lookup() {
        let headers: HTTPHeaders = ["Retry-After": "1", "retry-after": "2"]
        #expect(headers["RETRY-AFTER"] == "1")
        #expect(headers["Retry"] == nil)
    }
}
