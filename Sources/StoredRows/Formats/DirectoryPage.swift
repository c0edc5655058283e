import Foundation

/// Some of the names in a folder: the first ones behind a given name, in the order of their bytes.
///
/// A page is as large however many names there are; the folder is read once for each. So a name that is added while
/// others are worked on is met, if it comes behind them.
struct DirectoryPage: Sendable {
    enum Kind: Sendable, Hashable {
        case file, directory, link, other
    }

    struct Entry: Sendable, Hashable {
        let name: [UInt8]
        let kind: Kind
    }

    /// In order.
    let entries: [Entry]
    /// Nothing comes behind them.
    let isLast: Bool

    /// Names that begin with a dot are left out.
    ///
    /// - Parameters:
    ///   - name: only what comes behind it is wanted; nil for all.
    ///   - size: how many at most.
    init(of path: [UInt8], after name: [UInt8]?, size: Int) throws(SystemFailure) {
        guard let folder = opendir(path.cPath) else { throw .last }
        defer { closedir(folder) }
        var found: [Entry] = []
        // Once a page is full nothing behind its last name can get in.
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

    private static func isWanted(_ candidate: [UInt8], after name: [UInt8]?, upTo limit: [UInt8]?) -> Bool {
        guard candidate.first != UInt8(ascii: ".") else { return false }
        if let name, !name.precedes(candidate) { return false }
        if let limit, !candidate.precedes(limit) { return false }
        return true
    }
}

extension [DirectoryPage.Entry] {
    /// Sorts, and leaves so many; the last one that is left, where there were more.
    fileprivate mutating func cut(to size: Int) -> [UInt8]? {
        sort { $0.name.precedes($1.name) }
        guard count > size else { return nil }
        removeLast(count - size)
        return last?.name
    }
}

extension DirectoryPage.Kind {
    /// Some file systems leave the kind to be asked for.
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
    /// By bytes.
    func precedes(_ other: [UInt8]) -> Bool {
        let order = memcmp(self, other, Swift.min(count, other.count))
        return order == 0 ? count < other.count : order < 0
    }

    /// As a path for the system.
    var cPath: [CChar] { map(CChar.init(bitPattern:)) + [0] }
}
