import Foundation
package import ReceiptBridgeStorage

/// Opens a store by its address. Which engine is behind an address is known here.
package enum StoreOpening {
    /// Opens the store, or creates a new one.
    ///
    /// - Parameter recordsEvents: whether changes of customers are added to the table of events.
    /// - Throws: ``StorageError``; `notADatabase` for a file that is not a database, `changed` for a store of a newer
    ///   version, `notOpen` for a database that cannot be reached.
    package static func open(
        _ address: StoreAddress, _ database: DatabaseConfiguration, recordsEvents: Bool
    ) async throws(StorageError) -> any Store {
        switch address {
        case .sqlite(let path): try SQLiteStore(path: path, recordsEvents: recordsEvents)
        case .postgresql(let address):
            try await PostgreSQLStore(
                PostgreSQLConfiguration(address, database), place: "\(address)", recordsEvents: recordsEvents)
        }
    }

    /// Opens the store now or, if that fails, retries in the background. Until it is open every call throws
    /// `notOpen`.
    ///
    /// - Parameters:
    ///   - recordsEvents: whether changes of customers are added to the table of events.
    ///   - onChange: called with the first error, with each different error, with `nil` once the store is open after an
    ///     error, and with an error if its data is removed or replaced while it is open.
    package static func openRetrying(
        _ address: StoreAddress, _ database: DatabaseConfiguration, recordsEvents: Bool,
        _ onChange: @escaping @Sendable (StorageError?) -> Void
    ) -> any Store {
        switch address {
        case .sqlite(let path): SQLiteStore(opening: path, recordsEvents: recordsEvents, onChange)
        case .postgresql(let address):
            PostgreSQLStore(
                opening: PostgreSQLConfiguration(address, database), place: "\(address)",
                recordsEvents: recordsEvents, onChange)
        }
    }

    /// Opens the store, or creates a new one, for copying and comparing.
    ///
    /// - Throws: as ``open(_:_:recordsEvents:)``.
    package static func openForTransfer(
        _ address: StoreAddress, _ database: DatabaseConfiguration
    ) async throws(StorageError) -> any StoreTransfer {
        switch address {
        case .sqlite(let path): try SQLiteStore(path: path, allowsUnfinishedCopy: true)
        case .postgresql(let address):
            try await PostgreSQLStore(
                PostgreSQLConfiguration(address, database), place: "\(address)", allowsUnfinishedCopy: true)
        }
    }

    /// Returns whether there is a store at the address. A database is there in any case: its tables are created when
    /// it is opened.
    package static func exists(at address: StoreAddress) -> Bool {
        address.path.map { FileManager.default.fileExists(atPath: $0) } ?? true
    }

    /// Inspects a store in a file without changing it. Other processes can write to it at the same time.
    ///
    /// - Parameter limit: time limit of the checks.
    /// - Throws: ``StorageError``; `changed` for a store of a newer version.
    package static func inspect(
        _ path: String, limit: Duration = .seconds(30)
    ) throws(StorageError) -> StoreInspection {
        try SQLiteStore.inspect(path: path, limit: limit)
    }
}

extension PostgreSQLConfiguration {
    /// Combines an address with the keys `database`. Loads libpq to learn its version.
    package init(_ address: PostgreSQLAddress, _ database: DatabaseConfiguration) {
        let version = try? PostgreSQLClient.libraryVersion(of: database.library)
        self.init(
            parameters: address.parameters(
                isLibrary16: (version ?? 0) >= 160_000, hasPassword: database.password != nil),
            connections: Int(database.connections), statementTimeout: database.statementTimeout,
            preparedStatements: database.usesPreparedStatements, library: database.library)
        if let source = database.password { password = { try source.password() } }
    }
}
