import Foundation

/// Different customers, counted exactly up to ``maximum``: short digests, from which no identifier can be read.
package struct CustomerSet: Sendable, Hashable, Codable {
    /// Customers of one app in one environment; more are not counted.
    package static let maximum = 10_000

    private(set) var digests: Set<Int64> = []

    package init() {}

    package var count: Int64 { Int64(digests.count) }

    /// In ascending order.
    package var sorted: [Int64] { digests.sorted() }

    /// - Parameter digest: ``ComparedCustomer``'s.
    package mutating func insert(_ digest: Int64) {
        if digests.count < Self.maximum { digests.insert(digest) }
    }

    mutating func formUnion(_ other: CustomerSet) {
        for digest in other.digests { insert(digest) }
    }

    // MARK: - Codable

    /// Eight bytes each, the highest first.
    package init(from decoder: any Decoder) throws {
        let bytes = [UInt8](try decoder.singleValueContainer().decode(Data.self))
        for start in stride(from: 0, to: bytes.count - 7, by: 8) {
            insert(Int64(bitPattern: bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var bytes = Data(capacity: digests.count * 8)
        for digest in sorted { withUnsafeBytes(of: digest.bigEndian) { bytes.append(contentsOf: $0) } }
        var container = encoder.singleValueContainer()
        try container.encode(bytes)
    }
}
