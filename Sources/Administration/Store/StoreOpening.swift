import SQLiteFiles
import SQLiteStorage
package import Storage

/// Opens the configured store. The only place that knows which engine is behind a configured path.
package enum StoreOpening {
    /// Opens the store, or creates a new one.
    ///
    /// - Throws: ``StorageError``; `notADatabase` for a file that is not a database, `changed` for one of a newer
    ///   version.
    package static func open(_ path: String) throws(StorageError) -> any Store { try SQLiteStore(path: path) }

    /// Opens the store now or, if that fails, retries in the background. Until it is open every call throws
    /// `notOpen`.
    ///
    /// - Parameter onChange: called with the first error, with each different error, with `nil` once the store is open
    ///   after an error, and with an error if its data is removed or replaced while it is open.
    package static func openRetrying(
        _ path: String, _ onChange: @escaping @Sendable (StorageError?) -> Void
    ) -> any Store {
        SQLiteStore(opening: path, onChange)
    }

    /// Inspects a store without changing it. Other processes can write to it at the same time.
    ///
    /// - Throws: ``StorageError``; `changed` for a store of a newer version.
    package static func inspect(_ path: String) throws(StorageError) -> StoreInspection {
        try SQLiteStore.inspect(path: path)
    }

    /// Returns the files of the store that users other than the owner can read or change, each with a phrase that
    /// completes "can be read or changed by".
    package static func exposedFiles(of path: String) -> [(path: String, by: String)] {
        StoreFiles.exposed(of: path).map { ($0.path, $0.exposure.description) }
    }

    /// Returns who else can read or change a file, as a phrase that completes "can be read or changed by"; `nil` if
    /// only the owner can, and if the file does not exist.
    package static func exposure(ofFile path: String) -> String? { FileExposure(path: path)?.description }
}
