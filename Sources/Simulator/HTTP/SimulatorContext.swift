import Foundation
import Hummingbird
import Logging
import NIOCore

/// A request's context that knows its connection, which faults must be able to break.
struct SimulatorContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// Ends the connection at once, with a reset where the system allows one.
    func abort() async {
        if let options = channel as? any SocketOptionProvider {
            // C's `struct linger`: on, for no time; its own type stands in a module that NIO does not export.
            let linger: (Int32, Int32) = (1, 0)
            try? await options.unsafeSetSocketOption(level: .socket, name: .so_linger, value: linger).get()
        }
        try? await channel.close(mode: .all).get()
    }
}

/// The connection is gone; nobody reads the answer.
struct ConnectionAborted: Error {}
