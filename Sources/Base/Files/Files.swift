import Foundation

/// File system operations of programs that write files.
package enum Files {
    /// Returns whether a file or directory exists.
    package static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// A question about the files that a path is most likely a misspelling of, to append to a message; empty if the
    /// directory has none.
    package static func didYouMean(_ path: String) -> String {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder(of: path))) ?? []
        let prefix = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        return path.didYouMean(names.prefix(10_000).map { prefix + $0 })
    }

    /// Returns the directory of a file. Foundation's function crashes for a name of one character.
    package static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Returns whether a file is empty or does not exist.
    package static func isEmptyOrMissing(_ path: String) -> Bool {
        guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int else { return true }
        return size == 0
    }

    /// Returns `false` for directories, pipes and devices.
    package static func isRegularOrMissing(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
    }

    /// Returns a path and the paths of the files that SQLite creates for a database of this name.
    package static func companions(of path: String) -> [String] {
        [path, path + "-wal", path + "-shm", path + "-journal"]
    }

    /// Removes a file and its SQLite companion files, if they exist.
    package static func remove(_ path: String) throws(SinkError) {
        for name in companions(of: path) where exists(name) {
            do {
                try FileManager.default.removeItem(atPath: name)
            } catch {
                throw SinkError(.notWritable, at: name, "the file cannot be removed")
            }
        }
    }

    /// Replaces a file atomically. When this returns, the new file is durable.
    package static func replace(_ path: String, with new: String) throws(SinkError) {
        guard rename(new, path) == 0 else { throw SinkError(.failed, at: path, "\(new) cannot be renamed to it") }
        syncFolder(of: path)
    }

    /// Makes the directory entry of a new or renamed file durable. Does nothing on file systems that do not support
    /// it.
    static func syncFolder(of path: String) {
        let descriptor = open(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// Returns the path of the temporary file that will replace a file: in the same directory, with the same
    /// extension. For example, `report.draft.html` for `report.html`.
    package static func draft(of path: String) -> String {
        let parts = path.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count > 1, let ending = parts.last else { return path + ".draft" }
        return (parts.dropLast() + ["draft", ending]).joined(separator: ".")
    }
}

extension Files {
    /// Creates a file that only its owner can read, or restricts the permissions of an existing file.
    package static func makePrivate(at path: String, mustBeEmpty: Bool) throws(SinkError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SinkError(.last, at: path) }
        let file = FileDescriptor(descriptor)
        let status: stat
        do throws(SystemFailure) { status = try file.status() } catch { throw SinkError(error, at: path) }
        guard status.isRegularFile, !mustBeEmpty || status.st_size == 0 else {
            throw SinkError(.destinationExists, at: path, "the file exists and is not empty")
        }
        guard fchmod(descriptor, 0o600) == 0 else { throw SinkError(.last, at: path) }
    }
}
