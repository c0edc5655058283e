import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeComparison
import ReceiptBridgeStorage

/// The two stores that a command copies or compares.
struct StorePair {
    let first: StoreAddress
    let second: StoreAddress
    private let databases: (first: DatabaseConfiguration, second: DatabaseConfiguration)

    typealias Monitor = RunMonitor<ProgressText?>

    /// - Parameter createsSecond: whether the file of the second store may be missing.
    /// - Throws: `ExitCode`, after printing the error.
    init(_ configuration: ConfigurationOptions, _ first: String, _ second: String, createsSecond: Bool) throws {
        (self.first, self.second, databases) = try ConfigurationOptions.reporting {
            let (first, second) = (try Self.address(first), try Self.address(second))
            let database = try configuration.settings().database
            return (first, second, (database, try Self.second(database)))
        }
        guard self.first != self.second else {
            Terminal.say("both stores are \(self.first)")
            throw ExitCode.usage
        }
        for address in createsSecond ? [self.first] : [self.first, self.second] { try Self.requireExisting(address) }
    }

    /// - Throws: `ExitCode`, after printing the error.
    static func existing(_ text: String) throws -> StoreAddress {
        let address = try ConfigurationOptions.reporting { try Self.address(text) }
        try requireExisting(address)
        return address
    }

    /// - Throws: `ExitCode`, after printing the error.
    static func requireExisting(_ address: StoreAddress) throws {
        guard !StoreOpening.exists(at: address) else { return }
        Terminal.say("\(address.place): there is no such store")
        throw ExitCode.usage
    }

    /// Parses an address, or the path of an existing file. A path is relative to the working directory.
    private static func address(_ text: String) throws(ConfigurationError) -> StoreAddress {
        let isFile = Files.exists(text)
        guard isFile || text == "none" || text.contains(":") else {
            throw ConfigurationError(["\(text): \(SystemFailure(code: ENOENT).reason(for: text))"])
        }
        let text = isFile ? "sqlite:\(text)" : text
        do throws(StoreAddressError) {
            if let address = try StoreAddress.parse(text, resolve: { URL(filePath: $0).standardizedFileURL.path }) {
                return address
            }
        } catch {
            throw ConfigurationError([error.reason])
        }
        throw ConfigurationError(["none holds no data; expected sqlite:PATH or postgresql://USER@HOST/DATABASE"])
    }

    /// Returns the connections of the second store: with a password of its own if there is one.
    private static func second(_ database: DatabaseConfiguration) throws(ConfigurationError) -> DatabaseConfiguration {
        let name = ConfigurationEnvironment.secondPasswordFile
        guard let path = ProcessInfo.processInfo.environment[name], !path.isEmpty else { return database }
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw ConfigurationError(["\(name): cannot read the file that it names"])
        }
        var second = database
        second.password = .file(path: path)
        return second
    }

    /// Opens both stores, runs `body` with progress on standard error, and closes the stores.
    func use(
        _ body: (_ first: any StoreTransfer, _ second: any StoreTransfer, ProgressLine, Monitor) async throws -> Void
    ) async throws {
        var opened: [any StoreTransfer] = []
        let result = await Result {
            opened.append(try await StoreOpening.openForTransfer(first, databases.first))
            opened.append(try await StoreOpening.openForTransfer(second, databases.second))
            let (line, monitor) = (ProgressLine(), Monitor(nil))
            try await line.showing({ monitor.now }) { try await body(opened[0], opened[1], line, monitor) }
        }
        for store in opened { await store.close() }
        do {
            try result.get()
        } catch let error as StorageError where [.notOpen, .locked].contains(error.code) {
            Terminal.say("\(error)", hint: "run the same command again to resume")
            throw ExitCode.limit
        } catch {
            throw OperationFailure.exit(for: error)
        }
    }
}
