import Administration
import BridgeConfiguration
import Operations
import Storage
import Transport
import VerifyReceipt

extension ConfigurationOptions {
    /// Opens the connections to the App Store, and the store if one is configured, runs `body` and closes both. Errors
    /// are printed and turned into an exit code.
    ///
    /// - Parameter check: Checks the configuration before anything is opened.
    func withResources(
        checking check: (ProxyConfiguration) throws -> Void = { _ in },
        _ body: (ProxyConfiguration, CurlTransport, (any Store)?) async throws -> Void
    ) async throws {
        do {
            let settings = try settingsWithRoots()
            try check(settings)
            let transport = try CurlTransport(settings: settings)
            let result = await Result {
                guard let address = settings.store else { return try await body(settings, transport, nil) }
                let store = try await StoreOpening.open(
                    address, settings.database, recordsEvents: settings.recordsEvents)
                let result = await Result { try await body(settings, transport, store) }
                await store.close()
                try result.get()
            }
            await transport.shutDown()
            try result.get()
        } catch {
            throw OperationFailure.exit(for: error)
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

extension InvalidOperation {
    /// - Parameter command: The command or option that needs a store.
    static func storeIsMissing(for command: String) -> Self {
        Self("\(command) needs a store", hint: "set store in the configuration")
    }
}

extension Result {
    /// Runs `body` and keeps its error, for work that must close something afterwards.
    init(catching body: () async throws(Failure) -> Success) async {
        do throws(Failure) { self = .success(try await body()) } catch { self = .failure(error) }
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
