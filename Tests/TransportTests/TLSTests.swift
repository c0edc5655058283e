import Foundation
import ReceiptBridgeHTTPTestServer
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

/// An `openssl s_server` with a self-signed certificate for 127.0.0.1.
private final class TLSServer {
    static let tool = "/usr/bin/openssl"
    let port: Int
    let certificate: String
    private let folder: TemporaryFolder
    private let process = Process()

    init(_ options: [String] = []) throws {
        folder = try TemporaryFolder()
        certificate = folder.path("certificate.pem")
        let key = folder.path("key.pem")
        let generator = Process()
        generator.executableURL = URL(filePath: Self.tool)
        generator.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=test",
            "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2", "-keyout", key, "-out", certificate,
        ]
        generator.standardError = FileHandle.nullDevice
        try generator.run()
        generator.waitUntilExit()
        let output = Pipe()
        process.executableURL = URL(filePath: Self.tool)
        process.arguments = ["s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-www"] + options
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        TestProcess.started(process.processIdentifier)
        var text = ""
        while !text.contains("ACCEPT 127.0.0.1:") || !text.hasSuffix("\n") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { break }
            text += String(decoding: data, as: UTF8.self)
        }
        let digits = text.components(separatedBy: "ACCEPT 127.0.0.1:").last?.prefix { $0.isNumber }
        port = try #require(digits.flatMap { Int($0) })
    }

    deinit {
        // SIGKILL instead of `terminate()`, because the child of a dispatch thread inherits its blocked SIGTERM.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        TestProcess.ended(process.processIdentifier)
    }
}

// Needs an independent TLS server. Debian's package `ca-certificates` installs it, so these tests run almost
// everywhere.
@Suite("TLS", .enabled(if: FileManager.default.isExecutableFile(atPath: TLSServer.tool), "needs /usr/bin/openssl"))
struct TLSTests {
    private func outcome(_ server: TLSServer, caFile: String?) async throws -> Outcome {
        let transport = try CurlTransport(CurlConfiguration(version: "0-test", caFile: caFile))
        let request = try HTTPRequest(method: .get, url: "https://127.0.0.1:\(server.port)/")
        return try await finally({ await transport.shutDown() }) { await transport.outcome(of: request) }
    }

    @Test("An unknown certificate is rejected, and accepted if it is in the CA file")
    func trust() async throws {
        let server = try TLSServer()
        #expect(try await outcome(server, caFile: nil).failure?.code == .tlsFailed)
        #expect(try await outcome(server, caFile: server.certificate).get().status == 200)
    }

    @Test("A server with TLS 1.1 only is rejected, and a missing CA file is tlsFailed")
    func failures() async throws {
        let (old, server) = (try TLSServer(["-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0"]), try TLSServer())
        for (server, file) in [(old, old.certificate), (server, "/no/such/file.pem")] {
            #expect(try await outcome(server, caFile: file).failure?.code == .tlsFailed, "\(file)")
        }
    }
}
