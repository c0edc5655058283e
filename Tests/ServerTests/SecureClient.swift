import Foundation
import Simulator
import TestSupport
import Transport

/// TLS clients: libcurl in this process, which reuses its connections, and the machine's `curl` command.
final class SecureClient: Sendable {
    enum Outcome: Sendable, Hashable {
        /// HTTP 200 with a status.
        case verdict(Int64)
        /// Any other HTTP status.
        case status(Int)
        case failure(TransportError.Code)
    }

    private let folder: TemporaryFolder
    private let transport: CurlTransport
    private let port: Int

    /// - Parameter pair: The certificate whose authority is trusted, and no other.
    init(port: Int, trusting pair: ListenerPair) throws {
        folder = try TemporaryFolder()
        self.port = port
        let file = try folder.write("authority.pem", pair.authorityPEM)
        transport = try CurlTransport(CurlConfiguration(version: "0-test", caFile: file, proxy: .direct))
    }

    func post(_ path: String, _ body: [UInt8]) async throws -> Outcome {
        let request = try HTTPRequest(method: .post, url: "https://127.0.0.1:\(port)\(path)", body: body)
        do throws(TransportError) {
            let response = try await transport.send(request)
            guard response.status == 200 else { return .status(response.status) }
            return .verdict((try? JSONValue(reading: response.body))?["status"]?.integer ?? -1)
        } catch {
            return .failure(error.code)
        }
    }

    /// Runs `curl` and returns its exit code.
    func curl(_ arguments: String..., input: [UInt8] = []) async throws -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["curl", "--silent", "--output", "/dev/null", "--cacert", folder.path("authority.pem")] + arguments
            + ["https://127.0.0.1:\(port)/verifyReceipt"]
        process.standardInput = try FileHandle(
            forReadingFrom: URL(filePath: try folder.write("input", input)))
        process.standardError = FileHandle.nullDevice
        let (exits, exit) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            exit.yield(process.terminationStatus)
            exit.finish()
        }
        try process.run()
        for await status in exits { return status }
        return -1
    }

    func leave() async { await transport.shutDown() }
}
