import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation

/// A source that reads a directory: one row for each file at any depth. The id of a row is the path relative to the
/// directory (``PathText`` encodes paths that are not UTF-8), its value is the content of the file.
///
/// Names are read in byte order, and names that begin with a dot are skipped. Symbolic links are not followed: a link
/// is an unreadable row, as is a file or directory without read permission, so that no entry is skipped silently. A
/// position is the path of the last row.
///
/// Files may be added and removed during a run. A file that exists for the whole run has exactly one row. An added
/// file has a row if its path sorts after the current position, and otherwise none, in this run and in all that
/// resume from its position. A file that is removed before it is reached has no row.
struct DirectorySource: RowSource {
    static let maximumDepth = 32

    let identity: SourceIdentity

    private let path: String
    /// Limits on files. A file that exceeds one is an unreadable row.
    private let limits: SourceLimits
    private let excludedPaths: Set<[UInt8]>
    /// Open directories, from the outermost to the one being read.
    private var levels: [Level] = []
    /// Path of the last row, which is the position.
    private var lastPath: [UInt8]
    private var nextRowNumber: Int64

    private struct Level {
        /// Path relative to the outermost directory.
        let path: [UInt8]
        var page: DirectoryPage
        var next = 0
    }

    init(path: String, limits: SourceLimits, at position: SourcePosition?) throws(SourceError) {
        self.path = path
        self.limits = limits
        identity = try Self.identity(of: path)
        excludedPaths = Self.paths(limits.excludedPaths, in: path)
        lastPath = []
        nextRowNumber = position?.nextRowNumber ?? 1
        guard let position else {
            try openOutermost(after: nil)
            return
        }
        guard let last = PathText.path(of: position.place) else {
            throw SourceError(.changed, at: path, "the saved position is of a different kind of source")
        }
        lastPath = last
        try resume()
    }

    /// Returns the relative paths of those files that are in the directory.
    private static func paths(_ files: [String], in folder: String) -> Set<[UInt8]> {
        func real(_ path: String) -> [UInt8]? {
            guard let real = realpath(path, nil) else { return nil }
            defer { free(real) }
            return Array(String(cString: real).utf8)
        }
        guard let outermost = real(folder).map({ $0 + [UInt8(ascii: "/")] }) else { return [] }
        return Set(
            files.compactMap { file in
                // The file may not exist yet, so only its directory is resolved.
                guard let folderPath = real(Files.folder(of: file)).map({ $0 + [UInt8(ascii: "/")] }),
                    folderPath.starts(with: outermost), let name = file.split(separator: "/").last
                else { return nil }
                return folderPath.dropFirst(outermost.count) + Array(name.utf8)
            })
    }

    /// Returns the identity of the directory, which is its real path.
    private static func identity(of path: String) throws(SourceError) -> SourceIdentity {
        guard let real = realpath(path, nil) else { throw SourceError(.last, at: path) }
        defer { free(real) }
        return SourceIdentity(
            kind: .directory, size: nil, digest: SHA.hex(Array(String(cString: real).utf8), with: .sha256))
    }

    /// Compares the paths of the directories only, because files may be added and removed.
    func comparison(with earlier: SourceIdentity) throws(SourceError) -> SourceComparison {
        guard earlier.kind == .directory, earlier.digest != identity.digest else {
            return identity.comparison(with: earlier, unit: "file")
        }
        return .changed("it is a different directory")
    }

    mutating func next(maximumRows: Int, maximumBytes: Int) throws(SourceError) -> SourceBatch? {
        var rows: [SourceRow] = []
        var bytes = 0
        while rows.count < max(maximumRows, 1), rows.isEmpty || bytes < maximumBytes, let row = nextRow() {
            bytes += row.value.size
            rows.append(row)
        }
        guard !rows.isEmpty else { return nil }
        return SourceBatch(
            rows: rows, end: SourcePosition(place: PathText.text(of: lastPath), nextRowNumber: nextRowNumber))
    }

    // MARK: - Directories

    private mutating func nextRow() -> SourceRow? {
        while let level = levels.last {
            let index = levels.count - 1
            if level.next < level.page.entries.count {
                levels[index].next += 1
                let entry = level.page.entries[level.next]
                let path = level.path.isEmpty ? entry.name : level.path + [UInt8(ascii: "/")] + entry.name
                guard excludedPaths.isEmpty || !excludedPaths.contains(path) else { continue }
                guard let value = entry.kind == .directory ? enter(path) : value(at: path, entry.kind) else { continue }
                return row(value, at: path)
            } else if level.page.isLast {
                levels.removeLast()
            } else if let value = turnPage(of: index) {
                return row(value, at: level.path)
            }
        }
        return nil
    }

    /// Returns the next row and advances the position.
    private mutating func row(_ value: StoredValue, at path: [UInt8]) -> SourceRow {
        // A name that is not UTF-8 is percent-encoded, so that the file can be found.
        let id = String(validating: path, as: UTF8.self) ?? PathText.text(of: path)
        let row = SourceRow(number: nextRowNumber, id: id, value: value)
        nextRowNumber += 1
        lastPath = path
        return row
    }

    /// Opens a directory. Returns `nil` if it is open or no longer exists, otherwise the value of its row.
    private mutating func enter(_ path: [UInt8]) -> StoredValue? {
        guard levels.count < Self.maximumDepth else {
            return .unreadable(
                code: "tooDeep", reason: "the directory is nested more than \(Self.maximumDepth) levels deep")
        }
        do throws(SystemFailure) {
            levels.append(Level(path: path, page: try DirectoryPage(of: full(path), after: nil, size: limits.names)))
            return nil
        } catch {
            return error.isNoSuchFile ? nil : .notReadable(error)
        }
    }

    /// Reads the next page of a directory. If that fails, the directory is closed, and the value of its row is
    /// returned.
    private mutating func turnPage(of index: Int) -> StoredValue? {
        let level = levels[index]
        do throws(SystemFailure) {
            let page = try DirectoryPage(of: full(level.path), after: level.page.entries.last?.name, size: limits.names)
            levels[index] = Level(path: level.path, page: page)
            return nil
        } catch {
            levels.remove(at: index)
            return error.isNoSuchFile ? nil : .notReadable(error)
        }
    }

    private mutating func openOutermost(after name: [UInt8]?) throws(SourceError) {
        do throws(SystemFailure) {
            levels = [Level(path: [], page: try DirectoryPage(of: full([]), after: name, size: limits.names))]
        } catch {
            throw SourceError(error, at: path)
        }
    }

    /// Opens every directory on the path to the last row, each after the name that was read last.
    private mutating func resume() throws(SourceError) {
        let names = lastPath.split(separator: UInt8(ascii: "/")).map(Array.init)
        try openOutermost(after: names.first)
        for depth in names.indices.dropFirst() {
            let folder = Array(names[..<depth].joined(separator: [UInt8(ascii: "/")]))
            do throws(SystemFailure) {
                let page = try DirectoryPage(of: full(folder), after: names[depth], size: limits.names)
                levels.append(Level(path: folder, page: page))
            } catch {
                // A directory that no longer exists has no more entries.
                guard error.isNoSuchFile else {
                    throw SourceError(error, at: String(decoding: full(folder), as: UTF8.self))
                }
                return
            }
        }
    }

    private func full(_ relative: [UInt8]) -> [UInt8] {
        relative.isEmpty ? Array(path.utf8) : Array(path.utf8) + [UInt8(ascii: "/")] + relative
    }

    // MARK: - Files

    /// Reads a file; `nil` if it no longer exists.
    private func value(at path: [UInt8], _ kind: DirectoryPage.Kind) -> StoredValue? {
        switch kind {
        case .link: return .unreadable(code: "symbolicLink", reason: "symbolic links are not followed")
        case .other: return .unreadable(code: "notAFile", reason: "this is not a regular file")
        case .file, .directory: break
        }
        do throws(SystemFailure) {
            let file = try FileDescriptor(reading: full(path))
            let status = try file.status()
            guard status.isRegularFile else {
                return .unreadable(code: "notAFile", reason: "this is not a regular file")
            }
            let tooLarge = { StoredValue.tooLarge("the file", limit: limits.row) }
            guard Int(status.st_size) <= limits.row else { return tooLarge() }
            // The file may be growing, so one more byte than the limit is read.
            let bytes = try file.readToEnd(atMost: limits.row + 1)
            return bytes.count <= limits.row ? StoredValue(bytes: bytes) : tooLarge()
        } catch {
            return error.isNoSuchFile ? nil : .notReadable(error)
        }
    }
}

extension StoredValue {
    fileprivate static func notReadable(_ failure: SystemFailure) -> StoredValue {
        .unreadable(code: "notReadable", reason: failure.reason)
    }
}

extension FileDescriptor {
    /// Opens a file for reading that is not a symbolic link.
    fileprivate convenience init(reading path: [UInt8]) throws(SystemFailure) {
        let descriptor = open(path.cPath, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else { throw .last }
        self.init(descriptor)
    }
}
