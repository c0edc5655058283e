import Foundation

/// Stores of earlier versions.
package enum StoreSamples {
    /// Returns the statements that create the tables of a store of an earlier version, one on each line.
    ///
    /// - Parameter name: of a file in `Tests/Schemas`, without `.sql`.
    package static func tables(of name: String) throws -> String {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: folder.appending(path: "Schemas/\(name).sql"), encoding: .utf8)
    }
}
