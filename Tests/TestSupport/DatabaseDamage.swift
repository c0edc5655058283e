import Foundation

/// Damage of the pages of a SQLite file.
package enum DatabaseDamage {
    /// Reverses the order of the rows in the first leaf page of a table, whose keys then descend.
    ///
    /// - Parameter root: `rootpage` of the table in `sqlite_master`.
    package static func reverseRows(root: Int, in path: String) throws {
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        func number(_ offset: Int, _ size: Int) -> Int { bytes[offset..<offset + size].reduce(0) { $0 << 8 | Int($1) } }
        let size = number(16, 2)
        var page = (root - 1) * size
        // The first cell of an interior page begins with the number of its left child.
        while bytes[page] == 0x05 { page = (number(page + number(page + 12, 2), 4) - 1) * size }
        let cells = (0..<number(page + 3, 2)).map { Array(bytes[(page + 8 + 2 * $0)...].prefix(2)) }
        bytes.replaceSubrange((page + 8)..<(page + 8 + 2 * cells.count), with: cells.reversed().joined())
        try Data(bytes).write(to: URL(filePath: path))
    }
}
