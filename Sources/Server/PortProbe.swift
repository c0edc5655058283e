import Foundation
import NIOCore
import NIOPosix
package import Pipeline

/// Looks whether an address can be listened on, or somebody listens there.
package enum PortProbe {
    package enum Outcome: Sendable, Hashable {
        case free
        case taken
        /// No address of this machine, or a port that this user may not have.
        case unusable(String)
    }

    /// Binds it and lets go again; nobody listens meanwhile, so that who connects is refused as before and not cut off.
    package static func bind(_ address: ProxyConfiguration.Address) -> Outcome {
        guard let place = try? SocketAddress.makeAddressResolvingHost(address.host, port: address.port) else {
            return .unusable("the host name does not resolve to an address")
        }
        let number = socket(place.protocol.rawValue, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { return .unusable(lastError) }
        defer { close(number) }
        var isOn: Int32 = 1
        setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        let result = place.withSockAddr { Foundation.bind(number, $0, socklen_t($1)) }
        guard result != 0 else { return .free }
        return errno == EADDRINUSE ? .taken : .unusable(lastError)
    }

    private static var lastError: String { String(cString: strerror(errno)) }

    /// Whether somebody takes a connection within five seconds.
    package static func connects(_ address: ProxyConfiguration.Address) async -> Bool {
        let channel = try? await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(5)).connect(host: address.host, port: address.port).get()
        try? await channel?.close()
        return channel != nil
    }
}
