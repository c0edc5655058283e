import Foundation

/// File system operations of programs that write files.
package enum Files {
    package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// A question about the files that a path is most likely a misspelling of, to append to a message; empty if the
    /// directory has none.
    package static func didYouMean(_ path: String) -> String {
        let prefix = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        return path.didYouMean(names(in: folder(of: path), atMost: 10_000).map { prefix + $0 })
    }

    /// The text of a file of the kernel, at most 1 MiB of it; `nil` if it cannot be read. Uses nothing of Foundation
    /// but the C library, because the library for other languages has no Foundation.
    static func kernelText(of path: String) -> String? {
        (try? FileDescriptor(reading: path).readToEnd(atMost: 1 << 20)).map { String(decoding: $0, as: UTF8.self) }
    }

    static func names(in folder: String, atMost limit: Int) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while names.count < limit, let entry = readdir(directory) {
            // In place: an entry is shorter than its type.
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    package static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    package static func isEmptyOrMissing(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) != 0 || status.st_size == 0
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
        for name in companions(of: path) where exists(name) && unlink(name) != 0 {
            throw SinkError(.notWritable, at: name, "the file cannot be removed")
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
    /// Makes a file that only its owner can read, or restricts the permissions of an existing file.
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
