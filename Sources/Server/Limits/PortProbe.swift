import Foundation
import NIOCore
import NIOPosix

/// Checks whether this process can listen on an address, and whether another process listens on it.
package enum PortProbe {
    package enum ProbeOutcome: Sendable, Hashable {
        case free
        case inUse
        /// The address is not one of this machine's, or this user may not use the port. The text says which.
        case unusable(String)
    }

    /// Binds the address and releases it at once. It does not listen, so clients that connect in the meantime get
    /// "connection refused" as before instead of a connection that is cut off.
    package static func bind(host: String, port: Int) -> ProbeOutcome {
        guard let socketAddress = try? SocketAddress.makeAddressResolvingHost(host, port: port) else {
            return .unusable("the host name does not resolve to an address")
        }
        let descriptor = socket(socketAddress.protocol.rawValue, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return .unusable(lastError) }
        defer { close(descriptor) }
        var isOn: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        let result = socketAddress.withSockAddr { Foundation.bind(descriptor, $0, socklen_t($1)) }
        guard result != 0 else { return .free }
        return errno == EADDRINUSE ? .inUse : .unusable(lastError)
    }

    /// The text of `errno`, for example `Cannot assign requested address`.
    private static var lastError: String { String(cString: strerror(errno)) }

    /// Returns whether a TCP connection to the address can be opened within five seconds.
    package static func connects(host: String, port: Int) async -> Bool {
        let channel = try? await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(5)).connect(host: host, port: port).get()
        try? await channel?.close()
        return channel != nil
    }
}
