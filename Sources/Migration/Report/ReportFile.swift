import Foundation

/// A report on its way to disk: written beside its place, readable by its owner alone, and there as a whole or not at
/// all.
struct ReportFile {
    private let path: String
    private let draft: String
    private var file: OutputFile

    init(path: String) throws(MigrationError) {
        self.path = path
        draft = Migration.draft(of: path)
        try Files.remove(draft)
        do throws(SinkError) { file = try OutputFile(path: draft, cutAt: nil) } catch {
            throw MigrationError(report: error)
        }
    }

    mutating func append(_ bytes: [UInt8]) throws(MigrationError) {
        do throws(SinkError) { try file.append(bytes) } catch { throw MigrationError(report: error) }
    }

    mutating func finish() throws(MigrationError) {
        do throws(SinkError) { try file.makeDurable() } catch { throw MigrationError(report: error) }
        try Files.replace(path, with: draft)
    }

    func discard() { try? Files.remove(draft) }

    /// Whether a report can be written there, asked before the work and not behind it.
    static func check(_ path: String) throws(MigrationError) {
        guard Kind(path: path) != nil else {
            throw .notPossible("the name of a report ends in .html or .json, and \(path) does not")
        }
        let folder = (path as NSString).deletingLastPathComponent
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder.isEmpty ? "." : folder, isDirectory: &isDirectory),
            isDirectory.boolValue
        else { throw .notPossible("the report \(path): there is no such folder") }
        guard FileManager.default.isWritableFile(atPath: folder.isEmpty ? "." : folder) else {
            throw .notPossible("the report \(path): its folder may not be written")
        }
        guard !FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) || !isDirectory.boolValue else {
            throw .notPossible("the report \(path): this is a folder")
        }
    }
}

extension ReportFile {
    enum Kind: String {
        case html, json

        init?(path: String) {
            let name = path.lowercased()
            if name.hasSuffix(".html") {
                self = .html
            } else if name.hasSuffix(".json") {
                self = .json
            } else {
                return nil
            }
        }
    }
}
