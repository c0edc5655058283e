import Foundation
import NIOCore
import NIOPosix
package import Pipeline

/// Looks whether an address can be listened on, or somebody listens there.
package enum AddressProbe {
    package enum Outcome: Sendable, Hashable {
        case free
        case taken
        /// No address of this machine, or a port that this user may not have.
        case unusable(String)
    }

    /// Binds it and lets go again.
    package static func bind(_ address: Settings.Address) async -> Outcome {
        do {
            let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: address.host, port: address.port).get()
            try await channel.close()
            return .free
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            return .taken
        } catch let error as IOError {
            return .unusable(String(cString: strerror(error.errnoCode)))
        } catch is SocketAddressError {
            return .unusable("no address by that name")
        } catch {
            return .unusable("\(error)")
        }
    }

    /// Whether somebody takes a connection within five seconds.
    package static func connects(_ address: Settings.Address) async -> Bool {
        let channel = try? await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(5)).connect(host: address.host, port: address.port).get()
        try? await channel?.close()
        return channel != nil
    }
}
