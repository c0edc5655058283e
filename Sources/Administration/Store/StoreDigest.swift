import ReceiptBridgeBase
import ReceiptBridgeCryptography
package import ReceiptBridgeStorage

/// The number of rows of one kind and a digest of their content. Stores with the same data have the same digests,
/// whatever their engine, their row ids and the order of their rows.
package struct StoreDigest: Sendable, Hashable {
    /// The kind of data, for example `transactions`.
    package let title: String
    package private(set) var rows: Int64 = 0
    /// The sum of the SHA-256 digests of the rows, in four words. Unlike an exclusive or, it also shows rows that occur
    /// twice.
    private var sum: [UInt64] = [0, 0, 0, 0]

    init(title: String) {
        self.title = title
    }

    package var text: String {
        Hexadecimal.text(of: sum.flatMap { word in withUnsafeBytes(of: word.bigEndian) { [UInt8]($0) } })
    }

    private mutating func add(_ row: TransferRow) {
        var bytes: [UInt8] = []
        for value in row.values { value.append(to: &bytes) }
        let digest = SHA.digest(bytes, with: .sha256)
        for word in sum.indices {
            sum[word] &+= digest[(word * 8)..<(word * 8 + 8)].reduce(0) { $0 << 8 | UInt64($1) }
        }
        rows += 1
    }

    /// Reads a store and returns the digest of each kind of data.
    ///
    /// - Parameter report: called with the number of rows read so far.
    package static func all(
        of store: any StoreTransfer, batch: Int = 1_000, _ report: @Sendable (Int64) -> Void = { _ in }
    ) async throws(StorageError) -> [StoreDigest] {
        var digests: [StoreDigest] = []
        var read: Int64 = 0
        for table in StoreTable.copied {
            var digest = StoreDigest(title: table.title)
            var last: TransferKey?
            while true {
                let page = try await store.rows(table.content, after: last, limit: batch, decodesJWS: true)
                for row in page { digest.add(row) }
                read += Int64(page.count)
                report(read)
                last = page.last?.key
                if page.count < batch { break }
            }
            digests.append(digest)
        }
        return digests
    }
}
