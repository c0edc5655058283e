import ReceiptBridgeCore
import HTTPTypes
import Hummingbird
import NIOCore

/// Determines the IP address of a request's client. It is the peer of the connection or, if the peer is a trusted
/// proxy, the address that the proxy reports.
enum ClientAddress {
    /// Number of `X-Forwarded-For` entries that are read, from the right: more than any chain of proxies has. A client
    /// can send thousands.
    private static let maximumHops = 32
    private static let header = HTTPField.Name("X-Forwarded-For")

    /// Returns the address of the peer, or `nil` for a Unix domain socket.
    static func peer(_ address: SocketAddress?) -> AddressRange.Address? {
        guard let address else { return nil }
        return address.withSockAddr { pointer, size in
            // The address follows family and port, on BSD as on Linux: sin_addr at offset 4, sin6_addr at offset 8.
            let bytes = UnsafeRawBufferPointer(start: pointer, count: size)
            switch address {
            case .v4 where size >= 8:
                return .init(v4: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
            case .v6 where size >= 24: return .init(bytes: UnsafeRawBufferPointer(rebasing: bytes[8..<24]))
            default: return nil
            }
        }
    }

    /// Returns the client's address. Each proxy appends its peer to `X-Forwarded-For`, so the rightmost address that
    /// is not a trusted proxy is the client's. A client can forge the entries before it. For example, with the
    /// trusted proxy 10.0.0.1, `X-Forwarded-For: 192.0.2.9, 203.0.113.7` received from 10.0.0.1 means 203.0.113.7.
    static func of(
        _ request: Request, from peer: SocketAddress?, trusting proxies: [AddressRange]
    ) -> AddressRange.Address? {
        guard let address = Self.peer(peer) else { return nil }
        guard !proxies.isEmpty, proxies.contains(where: { $0.contains(address) }) else { return address }
        var client = address
        let hops = header.map { request.headers[values: $0].flatMap { $0.split(separator: ",") } } ?? []
        for hop in hops.suffix(maximumHops).reversed() {
            guard let parsed = parsed(hop) else { break }
            client = parsed
            guard proxies.contains(where: { $0.contains(parsed) }) else { break }
        }
        return client
    }

    /// Takes the snapshot, because passing `snapshot.settings` would copy the whole configuration for each request.
    static func of(
        _ request: Request, on channel: any Channel, by snapshot: ReloadableState.Snapshot
    ) -> AddressRange.Address? {
        of(request, from: channel.remoteAddress, trusting: snapshot.settings.trustedProxies)
    }

    /// Parses an entry. For example, `203.0.113.7`, `203.0.113.7:4711`, `2001:db8::1` or `[2001:db8::1]:4711`.
    private static func parsed(_ hop: Substring) -> AddressRange.Address? {
        var name = hop.drop { $0 == " " || $0 == "\t" }
        while let last = name.last, last == " " || last == "\t" { name = name.dropLast() }
        if name.hasPrefix("[") { return AddressRange.Address(name.dropFirst().prefix { $0 != "]" }) }
        return AddressRange.Address(name) ?? AddressRange.Address(name.prefix { $0 != ":" })
    }
}
