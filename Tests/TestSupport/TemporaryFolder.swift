package import Foundation

/// A temporary folder of one test, below ``TestProcess/folder``. It is removed when the object is released.
package final class TemporaryFolder: Sendable {
    package let url: URL

    package init() throws {
        url = TestProcess.folder.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    /// Returns the path of a file, which need not exist.
    package func path(_ name: String) -> String { url.appending(path: name).path }

    /// Writes a file, creating folders as needed, and returns its path.
    @discardableResult
    package func write(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        let file = url.appending(path: name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
        return file.path
    }

    @discardableResult
    package func write(_ name: String, _ text: String) throws -> String { try write(name, Array(text.utf8)) }

    package func read(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: url.appending(path: name))) }

    package func text(_ name: String) throws -> String { String(decoding: try read(name), as: UTF8.self) }

    package func append(_ name: String, _ bytes: some Sequence<UInt8>) throws {
        let handle = try FileHandle(forWritingTo: url.appending(path: name))
        defer { try? handle.close() }
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(bytes))
    }

    /// Returns the permission bits of a file, for example 0o600.
    package func permissions(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path(name))[.posixPermissions] as? Int
    }
}
