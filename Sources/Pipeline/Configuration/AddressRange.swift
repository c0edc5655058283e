import Foundation

/// An address, or a network as `10.0.0.0/8`: both kinds in 16 bytes, IPv4 as `::ffff:a.b.c.d`.
package struct AddressRange: Sendable, Hashable {
    /// 16 bytes of an address.
    package struct Address: Sendable, Hashable {
        package let high: UInt64
        package let low: UInt64

        package init(high: UInt64, low: UInt64) {
            self.high = high
            self.low = low
        }

        /// - Parameter address: in the machine's order.
        package init(v4 address: UInt32) {
            self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(address))
        }

        /// - Parameter bytes: 16 of them, as they travel.
        package init(bytes: UnsafeRawBufferPointer) {
            self.init(
                high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }

        /// `203.0.113.7` or `2001:db8::1`; nil for anything else.
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

        package var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

        /// What is counted together: an IPv4 address, or the /64 of an IPv6 one, in which a client takes whatever
        /// address it likes.
        package var network: Address { isIPv4 ? self : Address(high: high, low: 0) }
    }

    private let address: Address
    /// Of 128 bits.
    private let bits: Int

    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let address = Address(parts[0]) else { return nil }
        let length = address.isIPv4 ? 32 : 128
        guard parts.count == 1 || UInt8(parts[1]).map({ Int($0) <= length }) == true else { return nil }
        self.address = address
        bits = 128 - length + (parts.count == 2 ? Int(parts[1]) ?? length : length)
    }

    package func contains(_ other: Address) -> Bool {
        guard address.isIPv4 == other.isIPv4 else { return false }
        return Self.areSame(address.high, other.high, bits) && Self.areSame(address.low, other.low, bits - 64)
    }

    private static func areSame(_ left: UInt64, _ right: UInt64, _ bits: Int) -> Bool {
        bits <= 0 || (left ^ right) >> UInt64(64 - min(bits, 64)) == 0
    }
}
