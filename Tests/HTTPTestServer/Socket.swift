import Foundation

enum Socket {
    #if canImport(Glibc)
        private static let stream = Int32(SOCK_STREAM.rawValue)
        private static let noSignal = Int32(MSG_NOSIGNAL)
    #else
        private static let stream = SOCK_STREAM
        private static let noSignal: Int32 = 0
    #endif

    struct Failure: Error {
        let call: String
        let number: Int32
    }

    /// Listens on a port chosen by the system.
    static func listen() throws -> (socket: Int32, port: Int) {
        let descriptor = socket(AF_INET, stream, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 ? getsockname(descriptor, address, &length) : -1
            }
        }
        guard result == 0, Foundation.listen(descriptor, 512) == 0 else {
            throw Failure(call: "listen", number: errno)
        }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    static func accept(_ listener: Int32) -> Int32? {
        let descriptor = Foundation.accept(listener, nil, nil)
        return descriptor >= 0 ? descriptor : nil
    }

    static func read(_ descriptor: Int32) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
            count = max(0, recv(descriptor, buffer.baseAddress, buffer.count, 0))
        }
        return bytes.isEmpty ? nil : bytes
    }

    /// Returns false if the peer has closed the connection.
    static func send(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Foundation.send(descriptor, buffer.baseAddress?.advanced(by: sent), buffer.count - sent, noSignal)
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Waits for the next bytes. Returns true if the peer closed the connection, false if it sent more.
    static func waitForEnd(_ descriptor: Int32) -> Bool { read(descriptor) == nil }

    /// Makes `close` send a reset instead of an orderly shutdown.
    static func makeCloseReset(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    static func shutDown(_ descriptor: Int32) { shutdown(descriptor, Int32(SHUT_RDWR)) }

    static func close(_ descriptor: Int32) { Foundation.close(descriptor) }
}

/// Splits the bytes of a connection into requests.
struct RequestReader {
    private let socket: Int32
    private var buffer: [UInt8] = []

    init(_ socket: Int32) { self.socket = socket }

    /// Returns the next request, or `nil` at the end of the connection.
    mutating func next() -> TestServer.Request? {
        var headEnd: Int?
        while true {
            headEnd = headEnd ?? Data(buffer).range(of: Data("\r\n\r\n".utf8))?.upperBound
            if let headEnd {
                let head = String(decoding: buffer[..<(headEnd - 4)], as: UTF8.self).components(separatedBy: "\r\n")
                let length = TestServer.Request(head: head, body: []).header("Content-Length").flatMap(Int.init) ?? 0
                if buffer.count >= headEnd + length {
                    let body = Array(buffer[headEnd..<(headEnd + length)])
                    buffer.removeFirst(headEnd + length)
                    return TestServer.Request(head: head, body: body)
                }
            }
            guard let bytes = Socket.read(socket) else { return nil }
            buffer += bytes
        }
    }
}
