import ReceiptBridgeBase
package import Foundation
import ReceiptBridgeResponses

extension ProxyConfiguration {
    /// Loads the field tables from a directory instead of those in the program. The directory must hold all tables,
    /// without mistakes.
    ///
    /// - Throws: ``ConfigurationError`` with the mistakes of each table.
    package mutating func use(mappings folder: URL) throws(ConfigurationError) {
        guard FileManager.default.fileExists(atPath: folder.appending(path: ".").path) else {
            let failure = SystemFailure(code: Files.exists(folder.path) ? ENOTDIR : ENOENT)
            throw ConfigurationError(["cannot read \(folder.path): \(failure.reason(for: folder.path))"])
        }
        let errors = FieldTables.findings(directory: folder.path).compactMap(\.error)
        guard errors.isEmpty else { throw ConfigurationError(errors.map { "\($0)" }) }
        do throws(FieldTableError) {
            tables = try FieldTables(directory: folder.path)
        } catch {
            throw ConfigurationError(["\(error)"])
        }
        mappings = folder.path
    }
}

extension ConfigurationFile {
    static func readMappings(_ root: ConfigurationNode, _ name: String, _ settings: inout ProxyConfiguration) {
        guard let path = root.text(name, expecting: "a directory") else { return }
        do throws(ConfigurationError) {
            try settings.use(mappings: root.resolve(path, of: name))
        } catch {
            for finding in error.findings { root.note(name, finding) }
        }
    }
}
