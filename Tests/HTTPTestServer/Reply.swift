import Foundation

/// How the test server answers a request, well or badly.
package indirect enum Reply: Sendable {
    /// A response with its length; the connection stays open.
    case respond(status: Int = 200, headers: [String] = [], body: [UInt8] = [])
    /// A response in chunks.
    case chunked([[UInt8]])
    /// These bytes, then the end of the connection.
    case raw(String)
    /// A response that announces more than comes.
    case truncated(announced: Int, body: [UInt8])
    /// A body without a length that goes on until the client has had enough.
    case endless
    /// The reply after a pause.
    case after(seconds: Double, Reply)
    /// The reply when the gate is open.
    case behind(BlockingResponse, Reply)
    /// The end of the connection without a byte.
    case hangUp
    /// A reset of the connection without a byte.
    case reset
    /// Nothing, until the client hangs up.
    case never

    enum Next {
        case keepOpen, close, abandoned
    }

    /// Text as a JSON body.
    package static func json(_ text: String, status: Int = 200) -> Reply {
        .respond(status: status, headers: ["Content-Type: application/json"], body: Array(text.utf8))
    }

    func send(to socket: Int32) -> Next {
        switch self {
        case .respond(let status, let headers, let body):
            let head = ["HTTP/1.1 \(status) X", "Content-Length: \(body.count)"] + headers
            return Socket.send(Self.head(head) + body, to: socket) ? .keepOpen : .abandoned
        case .chunked(let chunks):
            var bytes = Self.head(["HTTP/1.1 200 X", "Transfer-Encoding: chunked"])
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
