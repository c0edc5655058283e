import ReceiptBridgeBase
import Foundation

/// A page of the names in a directory: the first names after a given one, in byte order.
///
/// The size of a page does not depend on the number of names. The directory is read once for each page, so a name
/// that is added during a run is found if it sorts after the current page.
struct DirectoryPage: Sendable {
    enum Kind: Sendable, Hashable {
        case file, directory, link, other
    }

    struct Entry: Sendable, Hashable {
        let name: [UInt8]
        let kind: Kind
    }

    /// Entries in byte order.
    let entries: [Entry]
    /// `true` if there are no entries after these.
    let isLast: Bool

    /// Reads a page of at most `size` entries after a name. Names that begin with a dot are skipped.
    init(of path: [UInt8], after name: [UInt8]?, size: Int) throws(SystemFailure) {
        guard let folder = opendir(path.cPath) else { throw .last }
        defer { closedir(folder) }
        var found: [Entry] = []
        // Last name of a full page. Names after it are ignored.
        var limit: [UInt8]?
        errno = 0
        while let entry = readdir(folder) {
            let candidate = entry.nameBytes
            if Self.isWanted(candidate, after: name, upTo: limit) {
                found.append(Entry(name: candidate, kind: Kind(entry, in: path)))
                if found.count >= 2 * size { limit = found.cut(to: size) }
            }
            errno = 0
        }
        guard errno == 0 else { throw .last }
        limit = found.cut(to: size) ?? limit
        entries = found
        isLast = limit == nil
    }

    /// Returns whether a name belongs to the page: it is not hidden and within the bounds.
    private static func isWanted(_ candidate: [UInt8], after name: [UInt8]?, upTo limit: [UInt8]?) -> Bool {
        guard candidate.first != UInt8(ascii: ".") else { return false }
        if let name, !name.precedes(candidate) { return false }
        if let limit, !candidate.precedes(limit) { return false }
        return true
    }
}

extension [DirectoryPage.Entry] {
    /// Sorts the entries and removes those beyond `size`. Returns the last remaining name, or `nil` if none was
    /// removed.
    fileprivate mutating func cut(to size: Int) -> [UInt8]? {
        sort { $0.name.precedes($1.name) }
        guard count > size else { return nil }
        removeLast(count - size)
        return last?.name
    }
}

extension DirectoryPage.Kind {
    /// Some file systems do not report the type in the directory entry, so it is determined with `lstat`.
    fileprivate init(_ entry: UnsafeMutablePointer<dirent>, in folder: [UInt8]) {
        switch Int(entry.pointee.d_type) {
        case Int(DT_REG): self = .file
        case Int(DT_DIR): self = .directory
        case Int(DT_LNK): self = .link
        case Int(DT_UNKNOWN):
            var status = stat()
            let path = folder + [UInt8(ascii: "/")] + entry.nameBytes
            guard lstat(path.cPath, &status) == 0 else {
                self = .file
                return
            }
            self = status.isDirectory ? .directory : status.isRegularFile ? .file : status.isLink ? .link : .other
        default: self = .other
        }
    }
}

extension UnsafeMutablePointer<dirent> {
    fileprivate var nameBytes: [UInt8] {
        withUnsafeBytes(of: &pointee.d_name) { buffer in [UInt8](buffer.prefix { $0 != 0 }) }
    }
}

extension [UInt8] {
    func precedes(_ other: [UInt8]) -> Bool {
        let order = memcmp(self, other, Swift.min(count, other.count))
        return order == 0 ? count < other.count : order < 0
    }

    var cPath: [CChar] { map(CChar.init(bitPattern:)) + [0] }
}
