import Foundation
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

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

    /// - Parameter pair: The certificate whose CA is trusted, and no other.
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

    /// Runs `curl` and returns its exit code, or the number of the signal that ended it.
    ///
    /// - Parameter end: When it returns, the process is killed, because the threads of Dispatch, which start it, block
    ///   all other signals. `nil` if `curl` ends by itself.
    func curl(_ arguments: String..., input: [UInt8] = [], until end: (() async -> Void)? = nil) async throws -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["curl", "--silent", "--output", "/dev/null", "--cacert", folder.path("authority.pem")] + arguments
            + ["https://127.0.0.1:\(port)/verifyReceipt"]
        process.standardInput = try FileHandle(forReadingFrom: URL(filePath: try folder.write("input", input)))
        process.standardError = FileHandle.nullDevice
        let (exits, exit) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            exit.yield(process.terminationStatus)
            exit.finish()
        }
        try process.run()
        if let end {
            await end()
            kill(process.processIdentifier, SIGKILL)
        }
        for await status in exits { return status }
        return -1
    }

    func leave() async { await transport.shutDown() }
}

/// The first message of a TLS client in bytes (RFC 5246, section 7.4.1.2). It imitates old clients, which no current
/// library can.
enum ClientHello {
    /// Returns a record with a complete ClientHello: P-256 and x25519, ECDSA and RSA with SHA-256, old and new
    /// ciphers.
    ///
    /// - Parameters:
    ///   - version: The newest version that the client supports, `0x0303` for TLS 1.2.
    ///   - protocols: The protocols of the ALPN extension.
    static func record(
        version: UInt16, protocols: [String] = [],
        ciphers: [UInt16] = [0xC02B, 0xC02F, 0xC009, 0xC013, 0x002F, 0x0035]
    ) -> [UInt8] {
        var extensions =
            field(0x000A, list(two: [0x00, 0x1D, 0x00, 0x17])) + field(0x000B, [1, 0])
            + field(0x000D, list(two: [0x04, 0x03, 0x04, 0x01]))
        if !protocols.isEmpty {
            extensions += field(0x0010, list(two: protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }))
        }
        let body =
            pair(version) + [UInt8](repeating: 7, count: 32) + [0] + list(two: ciphers.flatMap(pair)) + [1, 0]
            + list(two: extensions)
        let message = [1, 0] + list(two: body)
        return [22, 3, 1] + list(two: message)
    }

    private static func pair(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }

    /// Prefixes the list with its length in two bytes.
    private static func list(two bytes: [UInt8]) -> [UInt8] { pair(UInt16(bytes.count)) + bytes }

    private static func field(_ type: UInt16, _ value: [UInt8]) -> [UInt8] { pair(type) + list(two: value) }
}
