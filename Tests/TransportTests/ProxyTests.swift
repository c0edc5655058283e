import ReceiptBridgeHTTPTestServer
import Testing
import ReceiptBridgeTransport

@Suite("Proxy")
struct ProxyTests {
    private func configuration(_ proxy: String) -> CurlConfiguration {
        CurlConfiguration(version: "0-test", proxy: .url(proxy))
    }

    @Test("A proxy that rejects CONNECT is connectFailed, and its password is not in the error")
    func refusal() async throws {
        let proxy = try TestServer(reply: .respond(status: 407))
        let transport = try CurlTransport(configuration("http://user:secret@127.0.0.1:\(proxy.port)"))
        let request = try HTTPRequest(method: .get, url: "https://example.com/path")
        let error = await transport.failure(of: request)
        #expect(error?.description == "connectFailed: example.com: the proxy rejected the request with status 407")
        #expect(proxy.counts.requests == 1)
        await transport.shutDown()
    }

    @Test(
        "An error about an unusable proxy does not contain its password",
        arguments: [
            "http://user:secret@no-such-proxy.invalid:1", "http://user:secret@[no", "https://user:secret@127.0.0.1:1",
        ])
    func unusable(proxy: String) async throws {
        let transport = try CurlTransport(configuration(proxy))
        let request = try HTTPRequest(method: .get, url: "https://example.com/path")
        let error = await transport.failure(of: request)
        #expect(error?.description.contains("secret") == false)
        await transport.shutDown()
    }

    @Test("Requests to loopback bypass the proxy")
    func loopback() async throws {
        try await withServer(
            { _ in .respond() }, configuration: configuration("http://127.0.0.1:1")
        ) { server, transport in
            let response = try await transport.send(HTTPRequest(method: .get, url: server.url()))
            #expect(response.status == 200)
        }
    }
}
