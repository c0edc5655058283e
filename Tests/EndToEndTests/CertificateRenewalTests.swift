import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("TLS listener certificate")
struct CertificateRenewalTests {
    /// A proxy with TLS in front of a simulated App Store.
    private final class Stage: Sendable {
        let inner: CommandFixture
        let proxy: Running
        /// The configuration without a certificate.
        let plain: String

        init(_ pair: ListenerPair) async throws {
            inner = try await CommandFixture(customers: 4, store: nil)
            try Self.write(pair, into: inner.folder)
            plain = try inner.configuration()
            try inner.configure(before: Self.tls)
            proxy = try await inner.serve()
        }

        static let tls = "tls: {certificate: chain.pem, privateKey: key.pem}\n"

        static func write(_ pair: ListenerPair, into folder: TemporaryFolder) throws {
            try folder.write("chain.pem", pair.chainPEM)
            try folder.write("key.pem", pair.keyPEM)
        }
    }

    /// A client that reuses its connection and trusts one CA.
    private final class Client: Sendable {
        let folder: TemporaryFolder
        let transport: CurlTransport

        init(trusting pair: ListenerPair) throws {
            folder = try TemporaryFolder()
            let file = try folder.write("authority.pem", pair.authorityPEM)
            transport = try CurlTransport(CurlConfiguration(version: "0-test", caFile: file, proxy: .direct))
        }

        /// Returns the verifyReceipt status, or `nil` if the client does not trust the certificate.
        func ask(_ stage: Stage) async throws -> Int64? {
            let request = try HTTPRequest(
                method: .post, url: "https://127.0.0.1:\(try await stage.proxy.port())/verifyReceipt",
                body: #require(stage.inner.appStore.receipts.first).question)
            do throws(TransportError) {
                let response = try await transport.send(request)
                #expect(response.status == 200)
                return try? JSONValue(reading: response.body)["status"]?.integer
            } catch {
                #expect(error.code == .tlsFailed, "\(error)")
                return nil
            }
        }

        func leave() async { await transport.shutDown() }
    }

    // T31
    @Test("A renewed certificate is served after SIGHUP, existing connections stay open, and a bad one changes nothing")
    func renewed() async throws {
        let (old, new, other) = (try ListenerPair(), try ListenerPair(), try ListenerPair())
        let stage = try await Stage(old)
        let (early, late, tooLate) = (try Client(trusting: old), try Client(trusting: new), try Client(trusting: old))
        #expect(try await early.ask(stage) == 0)
        try Stage.write(new, into: stage.inner.folder)
        #expect(try await late.ask(stage) == nil)
        await stage.proxy.reload(until: #""changed":"tls.certificate""#)
        // On the existing connection: a new one would have the new certificate, which this client does not trust.
        #expect(try await early.ask(stage) == 0)
        #expect(try await late.ask(stage) == 0)
        #expect(try await tooLate.ask(stage) == nil)

        try stage.inner.folder.write("key.pem", other.keyPEM)
        await stage.proxy.reload(
            until:
                #""finding":"receipt-bridge.yaml: tls.privateKey: key.pem: expected the key of the first certificate""#)
        try FileManager.default.removeItem(atPath: stage.inner.folder.path("chain.pem"))
        await stage.proxy.reload(until: #""finding":"receipt-bridge.yaml: tls.certificate: cannot read "#)
        let newest = try Client(trusting: new)
        #expect(try await newest.ask(stage) == 0)

        try stage.inner.folder.write("receipt-bridge.yaml", stage.plain.utf8)
        await stage.proxy.reload(until: #""keys":"tls""#)
        let last = try Client(trusting: new)
        #expect(try await last.ask(stage) == 0)
        for client in [early, late, tooLate, newest, last] { await client.leave() }
        #expect(!stage.proxy.errors.contains("BEGIN"))
        await stage.proxy.finish()
    }

    @Test("The server does not start if certificate and key do not match")
    func atTheStart() async throws {
        let inner = try await CommandFixture(customers: 2, store: nil)
        try Stage.write(ListenerPair(), into: inner.folder)
        try inner.folder.write("key.pem", ListenerPair().keyPEM)
        try inner.configure(before: Stage.tls)
        let refused = try await inner.run("serve", "--listen", "127.0.0.1:0", exit: 2)
        #expect(
            refused.errors
                == "receipt-bridge: receipt-bridge.yaml: tls.privateKey: key.pem: expected the key of the first certificate\n"
        )
    }
}
