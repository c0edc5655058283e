import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import ReceiptBridgeStorage
import ReceiptBridgeTransport

extension ConfigurationOptions {
    /// Opens the connections to the App Store, runs `body` and closes them. Errors are printed and turned into an exit
    /// code.
    ///
    /// - Parameter prepare: Completes or checks the configuration before anything is opened.
    func withTransport(
        preparing prepare: (inout ProxyConfiguration) throws -> Void = { _ in },
        _ body: (ProxyConfiguration, CurlTransport) async throws -> Void
    ) async throws {
        do {
            var settings = try settingsWithRoots()
            try prepare(&settings)
            let transport = try CurlTransport(settings: settings, version: ReceiptBridge.version)
            let result = await Result { [settings] in try await body(settings, transport) }
            await transport.shutDown()
            try result.get()
        } catch {
            throw OperationFailure.exit(for: error)
        }
    }

    /// The same with the store, if one is configured.
    func withResources(
        checking check: (ProxyConfiguration) throws -> Void = { _ in },
        _ body: (ProxyConfiguration, CurlTransport, (any Store)?) async throws -> Void
    ) async throws {
        try await withTransport(preparing: { try check($0) }) { settings, transport in
            guard let address = settings.store else { return try await body(settings, transport, nil) }
            let store = try await StoreOpening.open(address, settings.database, recordsEvents: settings.recordsEvents)
            let result = await Result { try await body(settings, transport, store) }
            await store.close()
            try result.get()
        }
    }

    /// The same for a command that works on the whole store: it needs a store, and the keys of all apps.
    func withResources(
        storeFor command: String,
        _ body: (ProxyConfiguration, CurlTransport, any Store, StoreAddress) async throws -> Void
    ) async throws {
        let missing = InvalidOperation.storeIsMissing(for: command)
        try await withResources {
            guard $0.store != nil else { throw missing }
            try $0.checkKeys()
        } _: { settings, transport, store in
            guard let store, let address = settings.store else { throw missing }
            try await body(settings, transport, store, address)
        }
    }

    /// Opens the configured store, which must exist, runs `work` and closes it. Errors are printed and turned into
    /// an exit code.
    @discardableResult
    func withStore<Value>(_ work: (any Store) async throws(StorageError) -> Value) async throws -> Value {
        do {
            let settings = try settings()
            guard let address = settings.store else {
                throw ConfigurationError(["store: no store is configured; specify a configuration with --config"])
            }
            try StorePair.requireExisting(address)
            let store = try await StoreOpening.open(address, settings.database, recordsEvents: settings.recordsEvents)
            let result: Result<Value, StorageError> = await Result { () async throws(StorageError) in
                try await work(store)
            }
            if let damage = store.metrics.lastDamage {
                Terminal.say("damaged rows were left out: \(damage)", hint: "receipt-bridge store check \(address)")
            }
            await store.close()
            return try result.get()
        } catch {
            throw OperationFailure.exit(for: error)
        }
    }
}

/// A list of rows of the store.
enum StoredList {
    /// Prints a line for each row. Reads page by page, so that a large store does not have to fit into memory.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of rows.
    ///   - page: returns the rows after an id, at most so many.
    ///   - line: `nil` for a row that is left out.
    /// - Returns: the number of rows.
    @discardableResult
    static func print<Row>(
        _ id: KeyPath<Row, Int64>, limit: Int = .max,
        _ page: (_ after: Int64, _ limit: Int) async throws(StorageError) -> [Row], line: (Row) -> [UInt8]?
    ) async throws(StorageError) -> Int {
        var (last, count): (Int64, Int) = (0, 0)
        while count < limit {
            let rows = try await page(last, min(limit - count, 500))
            guard let end = rows.last else { break }
            for line in rows.compactMap(line) { Terminal.line(line) }
            (last, count) = (end[keyPath: id], count + rows.count)
        }
        return count
    }
}

extension AppRegistry {
    /// Returns an error if the app of `--bundle-id` is neither configured nor in the store.
    func unknown(_ name: String?, in store: any Store) async throws(StorageError) -> InvalidOperation? {
        guard let name, !names.contains(name) else { return nil }
        let stored = try await store.personalData.apps()
        return stored.contains(name) ? nil : unknown(name, stored: stored)
    }
}

extension ProxyConfiguration {
    /// Runs `body` with the Server API clients of all apps that have a key. Calls that they have taken from shared
    /// limits and not made are given back.
    func withClients<Value>(
        over transport: any HTTPTransport, share: Double, store: (any Store)?,
        _ body: (ServerAPISource) async throws -> Value
    ) async throws -> Value {
        let clients = try ServerAPISource.batch(
            settings: self, transport: transport, trust: TrustStore(settings: self), share: share, store: store)
        let result = await Result { try await body(clients) }
        await clients.giveBackCalls()
        return try result.get()
    }

    /// The same for batch work, with connections of its own. Errors of opening are printed and turned into an exit
    /// code.
    ///
    /// - Parameter open: Opens the store with the rate limits that servers share; it is closed afterwards.
    func withBatchClient(
        trust: TrustStore, share: Double, store open: () async throws -> (any Store)?,
        _ body: (ServerAPISource, CurlTransport) async throws -> Void
    ) async throws {
        let transport: CurlTransport
        let store: (any Store)?
        let client: ServerAPISource
        do {
            transport = try CurlTransport(settings: self, version: ReceiptBridge.version)
            store = try await open()
            try checkKeys()
            client = try ServerAPISource.batch(
                settings: self, transport: transport, trust: trust, share: share * ServerAPISource.safetyFactor,
                store: store)
        } catch {
            throw ConfigurationOptions.report(error)
        }
        let result = await Result { try await body(client, transport) }
        await transport.shutDown()
        await client.giveBackCalls()
        await store?.close()
        try result.get()
    }
}

extension InvalidOperation {
    static let serverAPIIsMissing = Self(
        "no app has serverAPI in the configuration",
        hint: "specify the configuration with --config or RECEIPT_BRIDGE_CONFIG")

    /// - Parameter command: The command or option that needs a store.
    static func storeIsMissing(for command: String) -> Self {
        Self("\(command) needs a store", hint: "set store in the configuration")
    }
}

/// The store in which servers share Apple's rate limits, for commands that need no store otherwise.
enum SharedStore {
    /// Opens the store if several servers can use it. If it cannot be reached, the calls of the command count alone.
    static func open(_ settings: ProxyConfiguration) async -> (any Store)? {
        guard let address = settings.store, case .postgresql = address else { return nil }
        do throws(StorageError) {
            return try await StoreOpening.open(address, settings.database, recordsEvents: settings.recordsEvents)
        } catch {
            Terminal.say("\(error)", hint: "the calls of running servers are not counted")
            return nil
        }
    }
}
