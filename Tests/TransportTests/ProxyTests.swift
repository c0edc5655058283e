import HTTPTestServer
import Testing
import Transport

@Suite("Going through a proxy")
struct ProxyTests {
    private func configuration(_ proxy: String) -> CurlConfiguration {
        CurlConfiguration(version: "0-test", proxy: .url(proxy))
    }

    @Test("https is tunnelled; a proxy that refuses is connectFailed, and its password stays secret")
    func refusal() async throws {
        let proxy = try TestServer(reply: .respond(status: 407))
        let transport = try CurlTransport(configuration("http://user:secret@127.0.0.1:\(proxy.port)"))
        let request = try HTTPRequest(method: .get, url: "https://example.com/path")
        let error = await transport.failure(of: request)
        #expect(error?.description == "connectFailed: example.com: the proxy refused with status 407")
        #expect(proxy.counts.requests == 1)
        await transport.shutDown()
        proxy.stop()
    }

    @Test(
        "A proxy that cannot be resolved is named without its password",
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

    @Test("Requests to this machine go past the proxy")
    func loopback() async throws {
        try await withServer(
            { _ in .respond() }, configuration: configuration("http://127.0.0.1:1")
        ) { server, transport in
            let response = try await transport.send(HTTPRequest(method: .get, url: server.url()))
            #expect(response.status == 200)
        }
    }
}
