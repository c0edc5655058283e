import Foundation

/// The beginning of a log `-wal`.
/// Source: https://www.sqlite.org/fileformat.html, section 4.1, "WAL File Format".
struct LogHeader {
    /// In bytes.
    let pageSize: Int64

    /// `nil` for other bytes. SQLite then ignores the whole log.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 32 else { return nil }
        func word(_ index: Int, isReversed: Bool = false) -> UInt32 {
            let word = bytes[index * 4..<index * 4 + 4]
            return (isReversed ? Array(word.reversed()) : Array(word)).reduce(0) { $0 << 8 | UInt32($1) }
        }
        // The last bit says whether the checksum is that of big-endian numbers.
        guard word(0) & ~1 == 0x377F_0682, word(1) == 3_007_000 else { return nil }
        let isReversed = word(0) & 1 == 0
        var sums: (UInt32, UInt32) = (0, 0)
        for index in stride(from: 0, to: 6, by: 2) {
            sums.0 &+= word(index, isReversed: isReversed) &+ sums.1
            sums.1 &+= word(index + 1, isReversed: isReversed) &+ sums.0
        }
        guard (word(6), word(7)) == sums else { return nil }
        pageSize = Int64(word(2))
    }

    /// Returns why the log does not belong to a database with pages of this size in bytes; `nil` if it may, and without
    /// a log.
    static func damage(ofLogAt path: String, pageSize: Int64) -> String? {
        guard StoreFiles.size(of: path) > 0 else { return nil }
        // A server that begins the log again at this moment writes the header.
        guard let header = read(path) ?? read(path) else {
            return "\(path) has no valid beginning, so that SQLite ignores all of it"
        }
        return header.pageSize == pageSize
            ? nil : "\(path) belongs to another database: its pages have \(header.pageSize) bytes, not \(pageSize)"
    }

    /// SQLite locks the database and the index, so that closing a descriptor of the log releases no lock.
    private static func read(_ path: String) -> LogHeader? {
        guard let file = FileHandle(forReadingAtPath: path), let bytes = try? file.read(upToCount: 32) else {
            return nil
        }
        return LogHeader([UInt8](bytes))
    }
}
