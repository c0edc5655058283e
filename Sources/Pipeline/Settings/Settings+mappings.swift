package import Foundation
import Rendering

extension Settings {
    /// Answers are written by the tables of a folder, which must hold all of them and no fault.
    ///
    /// - Throws: ``SettingsError`` with what is wrong with each table.
    package mutating func use(mappings folder: URL) throws(SettingsError) {
        let errors = FieldTables.findings(directory: folder).compactMap(\.error)
        guard errors.isEmpty else { throw SettingsError(errors.map { "\($0)" }) }
        do throws(FieldTableError) {
            tables = try FieldTables(directory: folder)
        } catch {
            throw SettingsError(["\(error)"])
        }
        mappings = folder.path
    }
}
