@testable import ReceiptBridgeBatch

/// Fuzzes CSV (inputs that begin with `c`) and JSON lines (all others): the rows must not depend on how the bytes are
/// cut into blocks.
enum RowsTarget {
    static func run(_ bytes: [UInt8]) {
        guard let kind = bytes.first else { return }
        let file = Array(bytes.dropFirst())
        var limits = SourceLimits()
        for (row, field) in [(1 << 20, 1 << 20), (64, 24)] {
            (limits.row, limits.field) = (row, field)
            limits.chunk = 4_096
            let whole = outcome(of: file, isCSV: kind == UInt8(ascii: "c"), limits, cut: .max, batch: .max)
            limits.chunk = 4
            for cut in [1, 3, 7] {
                let pieces = outcome(of: file, isCSV: kind == UInt8(ascii: "c"), limits, cut: cut, batch: cut)
                require(pieces == whole, "blocks of \(cut) bytes give the same rows")
            }
        }
    }

    /// The rows up to the end or to the first error.
    private struct Outcome: Hashable {
        var rows: [SourceRow] = []
        var failure: SourceError.Code?
    }

    /// Reads a file in blocks of `cut` bytes and in batches of `batch` rows.
    private static func outcome(
        of file: [UInt8], isCSV: Bool, _ limits: SourceLimits, cut: Int, batch: Int
    ) -> Outcome {
        var outcome = Outcome()
        do throws(SourceError) {
            let stream = Pieces(bytes: file, size: cut)
            var source: any RowSource =
                if isCSV {
                    try CSVSource(stream, options: SourceOptions(), limits: limits, at: nil)
                } else {
                    try JSONLinesSource(stream, options: SourceOptions(), limits: limits, at: nil)
                }
            while let rows = try source.next(maximumRows: batch, maximumBytes: .max) {
                require(!rows.rows.isEmpty, "a batch contains at least one row")
                outcome.rows += rows.rows
            }
        } catch {
            outcome.failure = error.code
        }
        return outcome
    }

    private struct Pieces: ByteStream {
        let bytes: [UInt8]
        let size: Int
        var position = 0

        var name: String { "fuzz" }

        init(bytes: [UInt8], size: Int) {
            self.bytes = bytes
            self.size = size
        }

        mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(SourceError) -> Int {
            let count = min(size, buffer.count, bytes.count - position)
            buffer.copyBytes(from: bytes[position..<position + count])
            position += count
            return count
        }

        func identity(as kind: SourceIdentity.Kind, ofSize size: Int64?) throws(SourceError) -> SourceIdentity {
            SourceIdentity(kind: kind, size: nil, digest: "")
        }
    }
}
