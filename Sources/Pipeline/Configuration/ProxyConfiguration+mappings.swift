package import Foundation
import Rendering

extension ProxyConfiguration {
    /// Answers are written by the tables of a folder, which must hold all of them and no fault.
    ///
    /// - Throws: ``ConfigurationError`` with what is wrong with each table.
    package mutating func use(mappings folder: URL) throws(ConfigurationError) {
        let errors = FieldTables.findings(directory: folder).compactMap(\.error)
        guard errors.isEmpty else { throw ConfigurationError(errors.map { "\($0)" }) }
        do throws(FieldTableError) {
            tables = try FieldTables(directory: folder)
        } catch {
            throw ConfigurationError(["\(error)"])
        }
        mappings = folder.path
    }
}
