package import ReceiptBridgeBase
import Foundation

/// Writes a file atomically: to a temporary file next to the destination, which replaces the destination when it is
/// complete. Only the owner can read it.
package struct ReportFile {
    private let path: String
    private let draft: String
    private var file: OutputFile

    private init(path: String) throws(SinkError) {
        self.path = path
        draft = Files.draft(of: path)
        try Files.remove(draft)
        file = try OutputFile(path: draft, cutAt: nil)
    }

    /// Appends bytes to the temporary file.
    package mutating func append(_ bytes: [UInt8]) throws(SinkError) { try file.append(bytes) }

    private mutating func finish() throws(SinkError) {
        try file.makeDurable()
        try Files.replace(path, with: draft)
    }

    private func discard() { try? Files.remove(draft) }

    /// Writes a file with `body`. If that fails, the temporary file is removed and the destination stays as it is.
    package static func write(to path: String, _ body: (inout ReportFile) throws -> Void) throws {
        var file = try ReportFile(path: path)
        do {
            try body(&file)
            try file.finish()
        } catch {
            file.discard()
            throw error
        }
    }

    /// Checks that a report can be written to a path, so that the error is found before the work and not after it.
    package static func check(_ path: String, kinds: [Kind]) throws(SinkError) {
        guard let kind = Kind(path: path), kinds.contains(kind) else {
            let endings = kinds.map { ".\($0.rawValue)" }.joined(separator: ", ")
            throw SinkError(.unknownKind, at: path, "the file name extension of a report must be one of \(endings)")
        }
        let folder = Files.folder(of: path)
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isDirectory),
            isDirectory.boolValue
        else { throw SinkError(.notWritable, at: path, "there is no such directory") }
        guard FileManager.default.isWritableFile(atPath: folder) else {
            throw SinkError(.notWritable, at: path, "no permission to write to its directory")
        }
        guard !FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) || !isDirectory.boolValue else {
            throw SinkError(.notWritable, at: path, "this is a directory")
        }
    }
}

extension ReportFile {
    /// File format of a report, determined by the file name extension.
    package enum Kind: String, Sendable, CaseIterable {
        case html, json, md

        package init?(path: String) {
            let name = path.lowercased()
            guard let kind = Self.allCases.first(where: { name.hasSuffix(".\($0.rawValue)") }) else { return nil }
            self = kind
        }
    }
}
