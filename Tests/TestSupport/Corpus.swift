package import Foundation

/// Genuine receipts and answers, beside the checkout where somebody has them; never in the repository.
package enum Corpus {
    /// `../shared/corpus`, seen from the top of the repository; nil where it is not there.
    package static let folder: URL? = {
        let folder = Repository.folder.deletingLastPathComponent().appending(path: "shared/corpus")
        return FileManager.default.fileExists(atPath: folder.path) ? folder : nil
    }()

    /// The files of one of its folders, sorted by name; empty where there is no corpus.
    package static func files(in name: String) -> [URL] {
        guard let folder = folder?.appending(path: name) else { return [] }
        let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return (files ?? []).sorted { $0.lastPathComponent < $1.lastPathComponent }
    }
}

package enum Repository {
    package static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
}
