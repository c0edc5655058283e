import Foundation

/// The few things that runs over many rows ask of a file system.
package enum Files {
    package static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// Where a file is; Foundation's own way to ask traps on a name of one character.
    package static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    package static func isEmptyOrMissing(_ path: String) -> Bool {
        guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int else { return true }
        return size == 0
    }

    /// False for folders, pipes and devices.
    package static func isRegularOrMissing(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
    }

    /// A file, and what a database of that name writes beside itself.
    package static func companions(of path: String) -> [String] {
        [path, path + "-wal", path + "-shm", path + "-journal"]
    }

    /// Nothing happens where there is none; a database's companions go with it.
    package static func remove(_ path: String) throws(SinkError) {
        for name in companions(of: path) where exists(name) {
            do {
                try FileManager.default.removeItem(atPath: name)
            } catch {
                throw SinkError(.notWritable, at: name, "the file cannot be removed")
            }
        }
    }

    /// One step: there is the old file or the new one at any moment, and the new one is on disk when this returns.
    package static func replace(_ path: String, with new: String) throws(SinkError) {
        guard rename(new, path) == 0 else { throw SinkError(.failed, at: path, "\(new) cannot be renamed to it") }
        syncFolder(of: path)
    }

    /// Makes the names in a file's folder durable: of a new file, or of one that was renamed. Does nothing on file systems
    /// that cannot.
    static func syncFolder(of path: String) {
        let number = open(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { return }
        fsync(number)
        close(number)
    }

    /// Beside a file, with the same ending: what is to take its place.
    package static func draft(of path: String) -> String {
        let parts = path.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count > 1, let ending = parts.last else { return path + ".draft" }
        return (parts.dropLast() + ["draft", ending]).joined(separator: ".")
    }
}
