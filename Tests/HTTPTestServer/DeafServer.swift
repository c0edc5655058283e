/// A server on 127.0.0.1 that never reads. The kernel accepts connections and as many bytes as fit into its buffers.
package final class DeafServer: Sendable {
    package let port: Int
    private let listener: Int32

    package init() throws {
        (listener, port) = try Socket.listen()
    }

    deinit { Socket.close(listener) }
}
