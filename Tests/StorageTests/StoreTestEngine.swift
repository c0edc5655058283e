import AppStoreTypes
import SQLiteStorage
import Storage
import TestSupport
import Testing

/// The engines that the conformance tests run on. The tests know only the protocols of `Storage`.
enum StoreTestEngine: String, Sendable, CaseIterable {
    case sqlite

    /// The engines that this machine can run.
    static var available: [StoreTestEngine] { allCases }

    /// Opens the store in a folder, or creates one.
    fileprivate func open(in folder: TemporaryFolder, hintsPerDay: Int) throws(StorageError) -> any Store {
        switch self {
        case .sqlite: try SQLiteStore(path: folder.path("bridge.sqlite"), hintsPerDay: hintsPerDay)
        }
    }
}

/// A new store of one engine.
struct StoreStage {
    let store: any Store
    let scope: AppScope
    private let engine: StoreTestEngine
    private let folder: TemporaryFolder
    private let hintsPerDay: Int

    /// - Parameter hintsPerDay: maximum number of version 1 notifications per day, app and environment.
    init(_ engine: StoreTestEngine, hintsPerDay: Int = 10_000) throws {
        self.engine = engine
        self.hintsPerDay = hintsPerDay
        folder = try TemporaryFolder()
        store = try engine.open(in: folder, hintsPerDay: hintsPerDay)
        let bundleId = try #require(BundleIdentifier(rawValue: "com.example.app"))
        scope = AppScope(bundleId: bundleId, environment: .production)
    }

    /// Closes the store and opens it again, as after a restart.
    func reopened() async throws -> any Store {
        await store.close()
        return try engine.open(in: folder, hintsPerDay: hintsPerDay)
    }

    /// Opens the same data a second time, as another process does.
    func second() throws -> any Store { try engine.open(in: folder, hintsPerDay: hintsPerDay) }
}
