import Testing
import ReceiptBridgeTransport

@Suite("HTTP URL validation")
struct HTTPURLTests {
    @Test(
        "A valid URL is split into host, port and scheme",
        arguments: [
            ("https://buy.itunes.apple.com/verifyReceipt", "buy.itunes.apple.com", 443, true),
            ("https://Example.COM:8443", "example.com", 8443, true),
            ("https://example.com?a=b/c", "example.com", 443, true),
            ("http://127.0.0.1:8090/verifyReceipt", "127.0.0.1", 8090, false),
            ("http://127.200.1.9/", "127.200.1.9", 80, false),
            ("http://localhost:1/", "localhost", 1, false),
            ("http://[::1]:8090/x", "::1", 8090, false),
        ])
    func accepted(text: String, host: String, port: Int, isSecure: Bool) throws {
        let url = try HTTPURL(text)
        #expect(url.text == text)
        #expect(url.host == host)
        #expect(url.port == port)
        #expect(url.isSecure == isSecure)
    }

    @Test(
        "Plain http to a host that is not loopback is refusedPlainHTTP",
        arguments: [
            "http://buy.itunes.apple.com/verifyReceipt", "http://10.0.0.1/", "http://127.0.0.1.example.com/",
            "http://localhost.example.com/", "http://0.0.0.0/", "http://127.1/", "http://0127.0.0.1/",
            "http://127.0.0.256/",
            "http://[::2]/", "http://2130706433/", "http://127.0.0.1./",
        ])
    func plainHTTP(text: String) {
        #expect(throws: TransportError.self) { try HTTPURL(text) }
        #expect(code { () throws(TransportError) in _ = try HTTPURL(text) } == .refusedPlainHTTP)
    }

    @Test(
        "A text that is not a restricted http or https URL is invalidURL",
        arguments: [
            "", "https://", "https:///path", "ftp://example.com/", "file:///etc/passwd", "HTTPS://example.com/",
            "https:/example.com", "//example.com/", "https://user@example.com/", "https://user:password@example.com/",
            "https://example.com:/", "https://example.com:0/", "https://example.com:65536/", "https://example.com:8x/",
            "https://example.com/a b", "https://example.com/\r\nHost: evil", "https://example.com/#fragment",
            "https://exämple.com/", "https://example.com\\@evil.com/", "https://[::1/", "https://[example.com]/",
            "https://[::1]x/", "https://ex%61mple.com/", "http://127.0.0.+1/", "https://example.com:443:444/",
            "http://127.0.0.1@evil.com/",
        ])
    func refused(text: String) {
        #expect(code { () throws(TransportError) in _ = try HTTPURL(text) } == .invalidURL)
    }
}

func code(_ body: () throws(TransportError) -> Void) -> TransportError.Code? {
    do throws(TransportError) {
        try body()
        return nil
    } catch {
        return error.code
    }
}
