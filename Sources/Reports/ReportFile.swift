import Foundation
package import StoredRows

/// A report on its way to disk: written beside its place, readable by its owner alone, and there as a whole or not at
/// all.
package struct ReportFile {
    private let path: String
    private let draft: String
    private var file: OutputFile

    package init(path: String) throws(SinkError) {
        self.path = path
        draft = Files.draft(of: path)
        try Files.remove(draft)
        file = try OutputFile(path: draft, cutAt: nil)
    }

    package mutating func append(_ bytes: [UInt8]) throws(SinkError) {
        try file.append(bytes)
    }

    package mutating func finish() throws(SinkError) {
        try file.makeDurable()
        try Files.replace(path, with: draft)
    }

    package func discard() { try? Files.remove(draft) }

    /// Whether a report can be written there, asked before the work and not behind it.
    ///
    /// - Parameter kinds: what this report is written as.
    package static func check(_ path: String, kinds: [Kind]) throws(SinkError) {
        guard let kind = Kind(path: path), kinds.contains(kind) else {
            let endings = kinds.map { ".\($0.rawValue)" }.joined(separator: ", ")
            throw SinkError(.unknownKind, at: path, "the name of a report ends in one of \(endings)")
        }
        let folder = Files.folder(of: path)
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isDirectory),
            isDirectory.boolValue
        else { throw SinkError(.notWritable, at: path, "there is no such folder") }
        guard FileManager.default.isWritableFile(atPath: folder) else {
            throw SinkError(.notWritable, at: path, "its folder may not be written")
        }
        guard !FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) || !isDirectory.boolValue else {
            throw SinkError(.notWritable, at: path, "this is a folder")
        }
    }
}

extension ReportFile {
    /// What a report is written as: the ending of its name.
    package enum Kind: String, Sendable, CaseIterable {
        case html, json, md

        /// Nil for a name that ends in none of them.
        package init?(path: String) {
            let name = path.lowercased()
            guard let kind = Self.allCases.first(where: { name.hasSuffix(".\($0.rawValue)") }) else { return nil }
            self = kind
        }
    }
}
