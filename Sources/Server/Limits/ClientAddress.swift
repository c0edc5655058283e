import HTTPTypes
import Hummingbird
import NIOCore
import Pipeline

/// Who sent a request: the other end of the connection; where that is a trusted proxy, whom it names.
enum ClientAddress {
    /// More addresses than that nobody reads.
    private static let maximumHops = 32
    private static let header = HTTPField.Name("X-Forwarded-For")

    /// Nil for a socket in the file system.
    static func peer(_ address: SocketAddress?) -> AddressRange.Address? {
        guard let address else { return nil }
        return address.withSockAddr { pointer, size in
            // Behind family and port, as BSD and Linux have it: sin_addr from 4, sin6_addr from 8.
            let bytes = UnsafeRawBufferPointer(start: pointer, count: size)
            switch address {
            case .v4 where size >= 8:
                return .init(v4: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
            case .v6 where size >= 24: return .init(bytes: UnsafeRawBufferPointer(rebasing: bytes[8..<24]))
            default: return nil
            }
        }
    }

    /// `X-Forwarded-For` is written from left to right: the last name that is no trusted proxy is the client's. What
    /// stands before it anybody can have written.
    static func of(
        _ request: Request, from peer: SocketAddress?, trusting proxies: [AddressRange]
    ) -> AddressRange.Address? {
        guard let address = Self.peer(peer) else { return nil }
        guard !proxies.isEmpty, proxies.contains(where: { $0.contains(address) }) else { return address }
        var client = address
        let hops = header.map { request.headers[values: $0].flatMap { $0.split(separator: ",") } } ?? []
        for hop in hops.suffix(maximumHops).reversed() {
            guard let named = named(hop) else { break }
            client = named
            guard proxies.contains(where: { $0.contains(named) }) else { break }
        }
        return client
    }

    /// `203.0.113.7`, `203.0.113.7:4711`, `2001:db8::1`, `[2001:db8::1]:4711`.
    private static func named(_ hop: Substring) -> AddressRange.Address? {
        var name = hop.drop { $0 == " " || $0 == "\t" }
        while let last = name.last, last == " " || last == "\t" { name = name.dropLast() }
        if name.hasPrefix("[") { return AddressRange.Address(name.dropFirst().prefix { $0 != "]" }) }
        return AddressRange.Address(name) ?? AddressRange.Address(name.prefix { $0 != ":" })
    }
}
