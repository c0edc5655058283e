import Foundation
import Synchronization

/// An HTTP/1.1 server on 127.0.0.1 with a thread for each connection. It can misbehave on request.
package final class TestServer: Sendable {
    package struct Request: Sendable {
        package let head: [String]
        package let body: [UInt8]
        /// The number of requests before it.
        package internal(set) var index = 0

        /// Path and query of the request, for example `/path?query`.
        package var path: String { head[0].split(separator: " ").dropFirst().first.map(String.init) ?? "" }

        package func header(_ name: String) -> String? {
            let prefix = name.lowercased() + ":"
            return head.dropFirst().first { $0.lowercased().hasPrefix(prefix) }
                .map { String($0.dropFirst(prefix.count)).trimmingCharacters(in: .whitespaces) }
        }
    }

    package struct Counts: Sendable {
        package var requests = 0
        package var connections = 0
        package var open = 0
        package var mostOpen = 0
        /// The number of connections that the client closed before it got a response.
        package var abandoned = 0
    }

    private struct State {
        var counts = Counts()
        var requests: [Request] = []
        var sockets: Set<Int32> = []
        var isStopped = false
    }

    package let port: Int
    private let listener: Int32
    private let state = Mutex(State())
    private let answer: @Sendable (Request) -> Reply

    /// Starts listening. `answer` is called on the connection's thread.
    package init(_ answer: @escaping @Sendable (Request) -> Reply) throws {
        self.answer = answer
        (listener, port) = try Socket.listen()
        let listener = listener
        Thread.detachNewThread { [weak self] in
            while let socket = Socket.accept(listener) {
                guard let self, self.admit(socket) else { return Socket.close(socket) }
                Thread.detachNewThread { self.serve(socket) }
            }
            Socket.close(listener)
        }
    }

    package convenience init(reply: Reply) throws {
        try self.init { _ in reply }
    }

    deinit { stop() }

    package func stop() {
        state.withLock { state in
            guard !state.isStopped else { return }
            state.isStopped = true
            Socket.shutDown(listener)
            for socket in state.sockets { Socket.shutDown(socket) }
        }
    }

    package var counts: Counts { state.withLock { $0.counts } }
    /// The requests so far, in the order of their ends.
    package var requests: [Request] { state.withLock { $0.requests } }

    package func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    private func admit(_ socket: Int32) -> Bool {
        state.withLock { state in
            guard !state.isStopped else { return false }
            state.sockets.insert(socket)
            state.counts.connections += 1
            state.counts.open += 1
            state.counts.mostOpen = max(state.counts.mostOpen, state.counts.open)
            return true
        }
    }

    private func serve(_ socket: Int32) {
        var reader = RequestReader(socket)
        while var request = reader.next() {
            state.withLock { state in
                request.index = state.counts.requests
                state.counts.requests += 1
                state.requests.append(request)
            }
            switch answer(request).send(to: socket) {
            case .keepOpen: continue
            case .close: break
            case .abandoned: state.withLock { if !$0.isStopped { $0.counts.abandoned += 1 } }
            }
            break
        }
        state.withLock { state in
            state.sockets.remove(socket)
            state.counts.open -= 1
            Socket.close(socket)
        }
    }
}

/// A server on 127.0.0.1 that never reads. The kernel accepts connections and as many bytes as fit into its buffers.
package final class DeafServer: Sendable {
    package let port: Int
    private let listener: Int32

    package init() throws { (listener, port) = try Socket.listen() }

    deinit { Socket.close(listener) }
}
