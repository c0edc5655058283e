import Foundation
import Hummingbird
import Logging
import NIOCore

/// The context of a request with its connection, because some faults close the connection.
struct SimulatorContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// Closes the connection immediately, with a TCP reset if the system supports it.
    func abort() async {
        if let options = channel as? any SocketOptionProvider {
            // C's `struct linger`: enabled, with a timeout of 0. The type itself is in a module that NIO does not
            // export.
            let linger: (Int32, Int32) = (1, 0)
            try? await options.unsafeSetSocketOption(level: .socket, name: .so_linger, value: linger).get()
        }
        try? await channel.close(mode: .all).get()
    }
}

/// The connection was closed, so no response is sent.
struct ConnectionAborted: Error {}
