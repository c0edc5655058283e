package import Foundation

/// A corpus of genuine receipts and responses, which is never in the repository. Tests skip it if it is absent.
package enum Corpus {
    /// The folder `../shared/corpus` next to the repository, or `nil` if there is none.
    package static let folder: URL? = {
        let folder = Repository.folder.deletingLastPathComponent().appending(path: "shared/corpus")
        return FileManager.default.fileExists(atPath: folder.path) ? folder : nil
    }()

    /// Returns the files of one folder of the corpus, sorted by name; none if there is no corpus.
    package static func files(in name: String) -> [URL] {
        guard let folder = folder?.appending(path: name) else { return [] }
        let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return (files ?? []).sorted { $0.lastPathComponent < $1.lastPathComponent }
    }
}

/// The checkout that contains this file.
package enum Repository {
    package static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
}
