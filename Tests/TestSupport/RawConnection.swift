import Foundation
package import ReceiptBridgeSimulator

/// A client that sends any bytes over TCP and reads HTTP/1.1 responses one by one.
///
/// Its calls block, so they run on their own threads and leave Swift's thread pool to the server under test.
package final class RawConnection: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    /// A response as it arrived. Interim responses (1xx) are returned too.
    package struct Answer: Sendable {
        package var status: Int
        package var head: [String]
        package var body: [UInt8]

        package var text: String { String(decoding: body, as: UTF8.self) }
        package var json: JSONValue { (try? JSONValue(reading: body)) ?? .null }
        /// The receipt status; `nil` if the HTTP status is not 200.
        package var verdict: Int64? { status == 200 ? json["status"]?.integer : nil }
        /// HTTP status and code of a problem document, for example `404 notFound`.
        package var problem: String {
            guard header("Content-Type") == "application/problem+json", json["status"] == .number(Int64(status)),
                json["title"]?.text?.isEmpty == false
            else { return "\(status), not a problem" }
            return "\(status) \(json["code"]?.text ?? "-")"
        }

        package func header(_ name: String) -> String? {
            let prefix = name.lowercased() + ":"
            return head.dropFirst().first { $0.lowercased().hasPrefix(prefix) }
                .map { $0.dropFirst(prefix.count).trimmingCharacters(in: .whitespaces) }
        }
    }

    private let descriptor: Int32
    /// Not locked, because callers await each call before the next one.
    private let buffer = Buffer()

    private final class Buffer: @unchecked Sendable {
        var bytes: [UInt8] = []
    }

    /// - Parameters:
    ///   - timeout: seconds that a read or a write may take. It only ends a test that hangs.
    ///   - receiveBuffer: size of the kernel's receive buffer in bytes.
    package init(port: Int, timeout: Int = 120, receiveBuffer: Int32? = nil) throws {
        #if canImport(Glibc)
            let stream = Int32(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        descriptor = socket(AF_INET, stream, 0)
        var limit = timeval(tv_sec: timeout, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // All properties are set, so `deinit` closes the descriptor. Closed twice, it could be that of another
        // connection.
        guard result == 0 else { throw Failure(description: "connect: \(errno)") }
    }

    deinit { close(descriptor) }

    /// Closes both directions, like a client that has disconnected.
    package func leave() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Closes the sending direction only; responses still arrive.
    package func closeSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    package func send(_ bytes: [UInt8]) async throws {
        try await blocking { [descriptor] in
            #if canImport(Glibc)
                let flags = Int32(MSG_NOSIGNAL)
            #else
                let flags: Int32 = 0
            #endif
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes {
                    Foundation.send(descriptor, $0.baseAddress?.advanced(by: sent), bytes.count - sent, flags)
                }
                guard count > 0 else { throw Failure(description: "send: \(errno)") }
                sent += count
            }
        }
    }

    package func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// Reads the next response. Returns `nil` at the end of the connection.
    ///
    /// - Parameter isHead: the request was a HEAD request, so the response has no body.
    package func answer(toHead isHead: Bool = false) async throws -> Answer? {
        try await blocking { [self] in try readAnswer(isHead) }
    }

    package func remainder() async throws -> [UInt8] {
        try await blocking { [self] in
            while try fill() {}
            defer { buffer.bytes = [] }
            return buffer.bytes
        }
    }

    /// Reads bytes that have arrived, or waits for some. Returns none at the end of the connection.
    package func next() async throws -> [UInt8] {
        try await blocking { [self] in
            if buffer.bytes.isEmpty { _ = try fill() }
            defer { buffer.bytes = [] }
            return buffer.bytes
        }
    }

    /// Waits for more bytes, and returns whether the connection ended instead.
    package func isAtEnd() async throws -> Bool {
        try await blocking { [self] in buffer.bytes.isEmpty ? try !fill() : false }
    }

    private func readAnswer(_ isHead: Bool) throws -> Answer? {
        while true {
            guard let end = Data(buffer.bytes).range(of: Data("\r\n\r\n".utf8))?.upperBound else {
                guard try fill() else {
                    guard buffer.bytes.isEmpty else { throw Failure(description: "connection closed within a head") }
                    return nil
                }
                continue
            }
            let head = String(decoding: buffer.bytes[..<(end - 4)], as: UTF8.self).components(separatedBy: "\r\n")
            let words = head[0].split(separator: " ")
            guard words.count > 1, let status = Int(words[1]) else { throw Failure(description: head[0]) }
            var answer = Answer(status: status, head: head, body: [])
            let length = isHead || status < 200 ? 0 : answer.header("Content-Length").flatMap(Int.init) ?? 0
            while buffer.bytes.count < end + length {
                guard try fill() else { throw Failure(description: "connection closed within a body") }
            }
            answer.body = Array(buffer.bytes[end..<(end + length)])
            buffer.bytes.removeFirst(end + length)
            return answer
        }
    }

    private func fill() throws -> Bool {
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { pointer, filled in
            count = recv(descriptor, pointer.baseAddress, pointer.count, 0)
            filled = max(0, count)
        }
        guard count >= 0 else { throw Failure(description: "recv: \(errno)") }
        buffer.bytes += bytes
        return count > 0
    }

    private func blocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
        }
    }
}

extension RawConnection {
    package static func post(
        _ path: String, _ body: [UInt8],
        _ headers: [String] = ["Host: proxy.example", "Content-Type: application/json"],
        version: String = "HTTP/1.1"
    ) -> [UInt8] { request("POST", path, headers, body, version: version) }

    /// Returns the bytes of a request. Without a body, it has no Content-Length either.
    package static func request(
        _ method: String, _ path: String, _ headers: [String] = ["Host: localhost"], _ body: [UInt8]? = nil,
        version: String = "HTTP/1.1"
    ) -> [UInt8] {
        let length = body.map { ["Content-Length: \($0.count)"] } ?? []
        let head = (["\(method) \(path) \(version)"] + headers + length + ["", ""]).joined(separator: "\r\n")
        return Array(head.utf8) + (body ?? [])
    }

    /// Sends one request on a new connection. It is an error if the connection ends without a response.
    package static func send(_ request: [UInt8], to port: Int) async throws -> Answer {
        try await RawConnection(port: port).ask(request)
    }

    package func ask(_ request: [UInt8]) async throws -> Answer {
        try await send(request)
        guard let answer = try await answer() else { throw Failure(description: "no response") }
        return answer
    }
}

/// Builds bodies of verifyReceipt requests.
package enum Question {
    package static func body(
        _ receipt: String, password: String? = nil, _ further: KeyValuePairs<String, JSONValue?> = [:]
    ) -> [UInt8] {
        var members = [JSONValue.Member("receipt-data", .string(receipt))]
        if let password { members.append(.init("password", .string(password))) }
        members += further.compactMap { key, value in value.map { JSONValue.Member(key, $0) } }
        return JSONValue.object(members).bytes
    }
}
