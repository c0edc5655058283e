import ReceiptBridgeCryptography
import Foundation

/// A set of distinct customers, exact up to ``maximum``. It stores short digests, which cannot be reversed to ids.
package struct CustomerSet: Sendable, Hashable, Codable {
    /// Limit on the customers of one app in one environment. Further customers are not counted.
    package static let maximum = 10_000

    /// Digests of 64 bits. With 10,000 customers, the probability of a collision is about 3 in 10^12.
    private(set) var digests: Set<Int64> = []

    init() {}

    package var count: Int64 { Int64(digests.count) }

    package var sorted: [Int64] { digests.sorted() }

    /// Adds a customer, unless the set is full.
    ///
    /// - Parameter digest: Result of ``ComparedCustomer``.
    package mutating func insert(_ digest: Int64) {
        if digests.count < Self.maximum { digests.insert(digest) }
    }

    mutating func formUnion(_ other: CustomerSet) {
        for digest in other.digests { insert(digest) }
    }

    // MARK: - Codable

    /// Reads digests of 8 bytes each, big-endian.
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

/// Identifies the customer of a compared receipt, because several receipts of one customer count as one customer.
package enum ComparedCustomer {
    /// A digest of the customer's first original transaction id, or of the receipt if it has no transaction. The first
    /// id is the shortest one, then the smallest in byte order: ids are numbers that grow.
    ///
    /// - Parameter receipt: Text that identifies the receipt. For example, its digest.
    package static func digest(
        _ verifyReceipt: ComparedAnswer, _ serverAPI: ComparedAnswer, receipt: @autoclosure () -> String
    ) -> Int64 {
        let rows = [verifyReceipt.snapshot, verifyReceipt.latest ?? [], serverAPI.snapshot, serverAPI.latest ?? []]
        let identifiers = rows.joined().lazy.compactMap { $0.identifier(.originalTransactionId) }
        let first = identifiers.min { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
        return SHA.short(first ?? "receipt \(receipt())")
    }
}
