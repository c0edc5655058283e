import ReceiptBridgeCore
import ReceiptBridgeAdministration
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeComparison
import ReceiptBridgeStorage
import Foundation

/// The `store` command: copies and compares stores, and searches a file for damage.
struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Copies a store into another database, compares two stores, or searches the file of one for damage.",
        subcommands: [Copy.self, Check.self])

    /// Copies all data. The exit code is 3 if the copy was stopped.
    struct Copy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copies all data of a store into an empty store; resumes a stopped copy.",
            discussion: """
                A store is sqlite:PATH or postgresql://USER@HOST/DATABASE. The password of SOURCE comes from \
                database.password of the configuration or RECEIPT_BRIDGE_DATABASE_PASSWORD_FILE, that of DESTINATION from \
                RECEIPT_BRIDGE_DATABASE_PASSWORD_FILE_2, or from the first if that is not set. Stop all servers and \
                commands that write to one of the two stores first; the copy is compared with SOURCE, and refused if it changed.

                Exit codes: 0 success; 2 usage, configuration, or the destination holds other data; 3 stopped, the same \
                command resumes.

                Example:
                  receipt-bridge store copy sqlite:bridge.db postgresql://bridge@db/receipts
                """)

        @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
        @OptionGroup var quiet: QuietOption
        @Argument(help: ArgumentHelp("The store to read.", valueName: "source"))
        var source: String
        @Argument(help: ArgumentHelp("The store to write, which must be empty.", valueName: "destination"))
        var destination: String

        func run() async throws {
            let stores = try StorePair(configuration, source, destination, createsSecond: true)
            try await stores.use { source, destination, line, monitor in
                let signals = await StopSignals.watching { monitor.stop() }
                defer { signals.cancel() }
                let copy = StoreCopy(from: source, named: "\(stores.first)", to: destination)
                let isComplete = try await copy.run { progress in
                    let counts = "\(progress.copied.grouped) of \(progress.rows.grouped) rows"
                    let text = ProgressText(
                        [
                            .init(counts, importance: 5), .init(progress.title, importance: 0, after: ": "),
                        ], fraction: progress.rows > 0 ? Double(progress.copied) / Double(progress.rows) : nil,
                        items: progress.copied)
                    monitor.change { $0 = text }
                    return !monitor.isStopped
                }
                line.clear()
                Terminal.inform(monitor.now?.text ?? "the copy is complete")
                guard isComplete else {
                    Terminal.say("stopped; run the same command again to resume")
                    throw ExitCode.limit
                }
            }
        }
    }

    /// Compares two stores, or searches one file for damage. The exit code is 1 if they differ, or if there is damage.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Compares the data of two stores, or searches the file of one for damage.",
            discussion: """
                With two stores, prints a table with the number of rows of each kind in both, and a digest of their content \
                that does not depend on the database or on row ids. The stores and passwords are named as for store copy.

                With one, which must be a file, checks its structure and every value, and prints each damaged column with \
                the number of damaged values. Servers may use it meanwhile.

                Exit codes: 0 equal, or intact; 1 different, or damaged; 2 usage or configuration; 3 a store cannot be read.

                Example:
                  receipt-bridge store check sqlite:bridge.db postgresql://bridge@db/receipts
                """)

        @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
        @OptionGroup var quiet: QuietOption
        @Argument(help: ArgumentHelp("A store.", valueName: "a"))
        var first: String
        @Argument(help: ArgumentHelp("Another store.", valueName: "b"))
        var second: String?
        @Flag(help: "Print JSON: an array with the data of two stores, or an object with the damage of one.")
        var json = false

        func run() async throws {
            guard let second else { return try inspect() }
            let stores = try StorePair(configuration, first, second, createsSecond: false)
            try await stores.use { first, second, line, monitor in
                let left = try await StoreDigest.all(of: first) { rows in
                    monitor.change { $0 = Self.text(rows, of: stores.first) }
                }
                let right = try await StoreDigest.all(of: second) { rows in
                    monitor.change { $0 = Self.text(rows, of: stores.second) }
                }
                line.clear()
                if json {
                    Terminal.line(Self.json(left, right))
                } else {
                    Terminal.result(Array(Self.table(left, right).utf8))
                }
                guard left == right else { throw ExitCode.someNotVerified }
            }
        }

        private func inspect() throws {
            guard case .sqlite(let path) = try StorePair.existing(first) else {
                Terminal.say(
                    "only a store in a file is searched for damage: PostgreSQL checks the types of values itself")
                throw ExitCode.usage
            }
            let facts: StoreInspection
            do throws(StorageError) {
                facts = try StoreOpening.inspect(path, limit: .days(1))
            } catch {
                Terminal.say("\(error)")
                throw error.code == .notADatabase ? ExitCode.someNotVerified : ExitCode.limit
            }
            let waiting = facts.customersToLookUp.values.reduce(0, +)
            if json {
                Terminal.line(
                    JSONWriter.object { writer in
                        writer.member("store", first)
                        writer.member("customersToLookUp", waiting)
                        writer.array("damaged", facts.damage) { writer, column in
                            writer.object {
                                $0.member("column", column.name)
                                $0.member("values", Int64(column.count))
                            }
                        }
                    })
            } else {
                for column in facts.damage { Terminal.line("damaged  \(column.name)  \(column.count)") }
            }
            if waiting > 0 { Terminal.inform("\(waiting) customers need a lookup") }
            guard case .damaged(let reason) = facts.integrity else {
                return Terminal.inform("\(first) is intact\(facts.layout == nil ? " and has no tables" : "")")
            }
            Terminal.say("\(first) is damaged: \(reason)", hint: "see Damaged stores in docs/STORE.md")
            throw ExitCode.someNotVerified
        }

        private static func text(_ rows: Int64, of store: StoreAddress) -> ProgressText {
            ProgressText([
                .init("\(rows.grouped) rows", importance: 5), .init("\(store)", importance: 0, after: " of "),
            ])
        }

        private static func json(_ left: [StoreDigest], _ right: [StoreDigest]) -> [UInt8] {
            JSONWriter.array(zip(left, right)) { writer, pair in
                let (left, right) = pair
                writer.member("data", left.title)
                writer.member("same", left == right)
                for (name, digest) in [("first", left), ("second", right)] {
                    writer.object(name) {
                        $0.member("rows", digest.rows)
                        $0.member("digest", digest.text)
                    }
                }
            }
        }

        /// One line for each kind of data: its name, the rows in both stores, the first digits of the digests and
        /// whether they are equal.
        private static func table(_ left: [StoreDigest], _ right: [StoreDigest]) -> String {
            let lines = zip(left, right).map { left, right in
                [
                    left == right ? "same" : "differs", left.title, "\(left.rows)", "\(right.rows)",
                    String(left.text.prefix(16)), String(right.text.prefix(16)),
                ]
            }
            return Terminal.aligned(lines, numbers: [2, 3])
        }
    }
}

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
