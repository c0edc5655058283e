import Foundation

/// The few things that a migration asks of a file system.
enum Files {
    static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    static func isEmptyOrMissing(_ path: String) -> Bool {
        guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int else { return true }
        return size == 0
    }

    /// Nothing happens where there is none; a database's companions go with it.
    static func remove(_ path: String) throws(MigrationError) {
        for name in [path, path + "-wal", path + "-shm", path + "-journal"] where exists(name) {
            do {
                try FileManager.default.removeItem(atPath: name)
            } catch {
                throw .notPossible("\(name) cannot be removed")
            }
        }
    }

    /// One step: there is the old file or the new one at any moment.
    static func replace(_ path: String, with new: String) throws(MigrationError) {
        guard rename(new, path) == 0 else { throw .interrupted("\(new) cannot be renamed to \(path)") }
    }
}
