import ReceiptBridgeHTTPTestServer
import ReceiptBridgeServer
import Testing

@Suite("Port probe", .timeLimit(.minutes(1)))
struct PortProbeTests {
    @Test("An address is free, in use, or not of this machine")
    func bind() throws {
        #expect(PortProbe.bind(host: "127.0.0.1", port: 0) == .free)
        let server = try TestServer(reply: .never)
        defer { server.stop() }
        #expect(PortProbe.bind(host: "127.0.0.1", port: server.port) == .inUse)
        // TEST-NET-1 of RFC 5737 is no address of this machine.
        #expect(PortProbe.bind(host: "192.0.2.1", port: 0) == .unusable("Cannot assign requested address"))
    }

    @Test("A connection is possible only if a process listens")
    func connects() async throws {
        let server = try TestServer(reply: .never)
        #expect(await PortProbe.connects(host: "127.0.0.1", port: server.port))
        server.stop()
        // Nothing listens on the port of the discard service.
        #expect(await !PortProbe.connects(host: "127.0.0.1", port: 9))
    }
}
