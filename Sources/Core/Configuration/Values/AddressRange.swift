import Foundation

/// An IP address, or a network in CIDR notation, for example `10.0.0.0/8`. Both families are stored in 16 bytes; an
/// IPv4 address is stored as its IPv4-mapped IPv6 address (`::ffff:a.b.c.d`).
package struct AddressRange: Sendable, Hashable {
    /// An IPv4 or IPv6 address in 16 bytes.
    package struct Address: Sendable, Hashable {
        package let high: UInt64
        package let low: UInt64

        package init(high: UInt64, low: UInt64) {
            self.high = high
            self.low = low
        }

        /// - Parameter address: in host byte order.
        package init(v4 address: UInt32) { self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(address)) }

        /// - Parameter bytes: 16 bytes in network byte order, for example those of an `in6_addr`.
        package init(bytes: UnsafeRawBufferPointer) {
            self.init(
                high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }

        /// Parses `203.0.113.7` or `2001:db8::1`. Returns `nil` for any other text, for example a host name.
        package init?(_ text: some StringProtocol) {
            var four = in_addr()
            var six = in6_addr()
            let name = String(text)
            if inet_pton(AF_INET, name, &four) == 1 {
                self.init(v4: UInt32(bigEndian: four.s_addr))
            } else if inet_pton(AF_INET6, name, &six) == 1 {
                self = withUnsafeBytes(of: six) { Address(bytes: $0) }
            } else {
                return nil
            }
        }

        var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

        /// The network that rate limits count as one client: an IPv4 address itself, or the /64 prefix of an IPv6
        /// address. A client can choose any address in its /64, so a limit per IPv6 address could be avoided.
        package var network: Address { isIPv4 ? self : Address(high: high, low: 0) }
    }

    private let address: Address
    /// The length of the prefix, 0 to 128 bits. For an IPv4 network it includes the 96 bits before the IPv4 address:
    /// `10.0.0.0/8` has 104.
    private let bits: Int

    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let address = Address(parts[0]) else { return nil }
        let length = address.isIPv4 ? 32 : 128
        guard parts.count == 1 || UInt8(parts[1]).map({ Int($0) <= length }) == true else { return nil }
        self.address = address
        bits = 128 - length + (parts.count == 2 ? Int(parts[1]) ?? length : length)
    }

    /// Returns whether an address is in this range. An IPv4 range never contains an IPv6 address, nor the reverse.
    package func contains(_ other: Address) -> Bool {
        guard address.isIPv4 == other.isIPv4 else { return false }
        return Self.areSame(address.high, other.high, bits) && Self.areSame(address.low, other.low, bits - 64)
    }

    /// Compares the first `bits` bits (at most 64) of two words.
    private static func areSame(_ left: UInt64, _ right: UInt64, _ bits: Int) -> Bool {
        bits <= 0 || (left ^ right) >> UInt64(64 - min(bits, 64)) == 0
    }
}
