import Foundation

/// The few things that runs over many rows ask of a file system.
package enum Files {
    package static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    package static func isEmptyOrMissing(_ path: String) -> Bool {
        guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int else { return true }
        return size == 0
    }

    /// Nothing happens where there is none; a database's companions go with it.
    package static func remove(_ path: String) throws(SinkError) {
        for name in [path, path + "-wal", path + "-shm", path + "-journal"] where exists(name) {
            do {
                try FileManager.default.removeItem(atPath: name)
            } catch {
                throw SinkError(.notWritable, at: name, "the file cannot be removed")
            }
        }
    }

    /// One step: there is the old file or the new one at any moment.
    package static func replace(_ path: String, with new: String) throws(SinkError) {
        guard rename(new, path) == 0 else { throw SinkError(.failed, at: path, "\(new) cannot be renamed to it") }
    }

    /// Beside a file, with the same ending: what is to take its place.
    package static func draft(of path: String) -> String {
        let parts = path.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count > 1, let ending = parts.last else { return path + ".draft" }
        return (parts.dropLast() + ["draft", ending]).joined(separator: ".")
    }
}
