import Foundation

/// Files of one directory: readable by their owner only, written whole or not at all.
struct PrivateFiles: Sendable {
    let directory: String

    /// The directory, made with mode 0700 where it is missing.
    init(_ directory: String) throws {
        self.directory = directory
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    func folder(_ name: String) throws -> PrivateFiles { try PrivateFiles(path(name)) }

    func path(_ name: String) -> String { "\(directory)/\(name)" }

    func write(_ name: String, _ bytes: [UInt8]) throws {
        let temporary = path(".\(name).new")
        let isWritten = FileManager.default.createFile(
            atPath: temporary, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
        guard isWritten else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: temporary])
        }
        guard rename(temporary, path(name)) == 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path(name)])
        }
    }

    func write(_ name: String, _ text: String) throws { try write(name, Array(text.utf8)) }

    /// A document a line.
    func write(_ name: String, lines: [JSONValue]) throws {
        var bytes: [UInt8] = []
        for line in lines {
            bytes += line.bytes
            bytes.append(0x0A)
        }
        try write(name, bytes)
    }

    /// One line more; what does not fit is lost, the file stays good.
    func append(_ name: String, line: JSONValue) {
        guard FileManager.default.fileExists(atPath: path(name)) || (try? write(name, [])) != nil,
            let file = FileHandle(forWritingAtPath: path(name))
        else { return }
        defer { try? file.close() }
        _ = try? file.seekToEnd()
        try? file.write(contentsOf: Data(line.bytes + [0x0A]))
    }

    func read(_ name: String) -> [UInt8]? { FileManager.default.contents(atPath: path(name)).map { [UInt8]($0) } }

    func lines(_ name: String) -> [JSONValue] {
        (read(name) ?? []).split(separator: 0x0A).compactMap { try? JSONValue(reading: Array($0)) }
    }

    func remove(_ name: String) { try? FileManager.default.removeItem(atPath: path(name)) }
}
