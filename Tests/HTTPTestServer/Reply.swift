import Foundation
import Synchronization

/// The reply of the test server to a request, including various kinds of misbehavior.
package indirect enum Reply: Sendable {
    /// A response with Content-Length. The connection stays open.
    case respond(status: Int = 200, headers: [String] = [], body: [UInt8] = [])
    case chunked([[UInt8]], headers: [String] = [])
    /// These bytes, then the connection is closed.
    case raw(String)
    /// A response whose Content-Length is larger than its body.
    case truncated(announced: Int, body: [UInt8])
    /// A body without a length that continues until the client closes the connection.
    case endless
    /// Another reply after a delay.
    case after(seconds: Double, Reply)
    case behind(BlockingResponse, Reply)
    /// A reply, and another one that was not requested.
    case both(Reply, Reply)
    case hangUp
    case reset
    /// Sends nothing until the client closes the connection.
    case never

    enum Next {
        case keepOpen, close, abandoned
    }

    package static func json(_ text: String, status: Int = 200) -> Reply {
        .respond(status: status, headers: ["Content-Type: application/json"], body: Array(text.utf8))
    }

    func send(to socket: Int32) -> Next {
        switch self {
        case .respond(let status, let headers, let body):
            let head = ["HTTP/1.1 \(status) X", "Content-Length: \(body.count)"] + headers
            return Socket.send(Self.head(head) + body, to: socket) ? .keepOpen : .abandoned
        case .chunked(let chunks, let headers):
            var bytes = Self.head(["HTTP/1.1 200 X", "Transfer-Encoding: chunked"] + headers)
            for chunk in chunks + [[]] {
                bytes += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + [13, 10]
            }
            return Socket.send(bytes, to: socket) ? .keepOpen : .abandoned
        case .raw(let text):
            return Socket.send(Array(text.utf8), to: socket) ? .close : .abandoned
        case .truncated(let announced, let body):
            let head = Self.head(["HTTP/1.1 200 X", "Content-Length: \(announced)"])
            return Socket.send(head + body, to: socket) ? .close : .abandoned
        case .endless:
            guard Socket.send(Self.head(["HTTP/1.1 200 X"]), to: socket) else { return .abandoned }
            while Socket.send([UInt8](repeating: 0x20, count: 65536), to: socket) {}
            return .abandoned
        case .after(let seconds, let reply):
            Thread.sleep(forTimeInterval: seconds)
            return reply.send(to: socket)
        case .behind(let gate, let reply):
            gate.wait()
            return reply.send(to: socket)
        case .both(let first, let second):
            return first.send(to: socket) == .keepOpen ? second.send(to: socket) : .abandoned
        case .hangUp: return .close
        case .reset:
            Socket.makeCloseReset(socket)
            return .close
        case .never:
            return Socket.waitForEnd(socket) ? .abandoned : .close
        }
    }

    private static func head(_ lines: [String]) -> [UInt8] {
        Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }
}

/// A gate that delays replies until the test opens it.
package final class BlockingResponse: Sendable {
    private let isOpen = Mutex(false)

    package init() {}

    /// Lets all replies through, including those that wait.
    package func open() { isOpen.withLock { $0 = true } }

    /// Blocks the calling thread, but at most a minute, because a test may fail before it opens the gate.
    func wait() {
        for _ in 0..<12_000 where !isOpen.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.005) }
    }
}
