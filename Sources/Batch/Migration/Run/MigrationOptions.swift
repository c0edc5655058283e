package import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// Options of a migration run.
package struct MigrationOptions: Sendable {
    /// Options that must be the same in all runs of a migration. They are stored in the progress file.
    package struct PersistedOptions: Sendable, Hashable, Codable {
        /// Names of columns, keys and table.
        package var source = SourceOptions()
        /// `true` if customers are looked up with the App Store Server API.
        package var withAPI = false
        /// `true` if receipts that are not authentic are looked up too, and marked as not verified.
        package var allowUnverified = false
        /// The app of ids that are looked up without a receipt and name none; `nil` if they must name one.
        package var app: String?
        /// Identifies the trusted certificates; `nil` if unknown.
        package var trust: String?
        /// Format of a result whose name does not state it; `nil` to use the name.
        package var resultFormat: TextFormat?
    }

    /// Path of the source, or `-` for standard input.
    package var source: String
    /// Path of the destination.
    package var destination: String
    /// Options that must not change between runs.
    package var persisted = PersistedOptions()
    /// Start over, even if there is a checkpoint to resume from.
    package var isFresh = false
    /// Decode and group rows by customer only. There are no lookups and no result is written.
    package var isPlan = false
    /// Look up known customers again, to add newer transactions.
    package var isRefresh = false
    /// Look up the customers with the latest expiry dates first.
    package var isActiveFirst = false
    /// The limits of this run, by rows.
    package var limits = RunLimits()
    /// Degree of concurrency. At most `workers` + 2 batches are decoded at a time, and at most 8 × `workers`
    /// customers of each app and environment are looked up at a time.
    package var workers: Int
    /// Set the account tokens in the source. Otherwise the run only reports what it would set.
    package var setsAccountTokens = false
    /// Time between checkpoints: the work that a crash can lose.
    package var checkpointInterval = Duration.seconds(1)
    /// Paths of the reports to write at the end, each `.html` or `.json`.
    package var reports: [String] = []
    /// Paths of the flat tables to write at the end, each `.csv` or `.jsonl`. Needs the App Store Server API.
    package var tables: [FlatTable: String] = [:]
    /// For a destination in a database: the part of the source that this worker reads, the size of the chunks if it
    /// plans them, and its name, which no other worker has.
    package var (shard, chunkSize, worker) = (ImportShard.whole, ChunkSize(), "the only worker")
    /// Time after which another worker takes over the work of one that was killed. It is renewed three times within it.
    package var lease = Duration.seconds(15)

    package init(source: String, destination: String, workers: Int) {
        self.source = source
        self.destination = destination
        self.workers = workers
    }

    /// Path of the progress file, next to the destination.
    var progressPath: String { destination + ".progress" }

    /// Limits for the source, which exclude the files that runs write, including temporary files of a crashed run.
    var sourceLimits: SourceLimits {
        var limits = SourceLimits()
        let databases = [destination, Files.draft(of: destination), progressPath]
        let written = reports + tables.values
        limits.excludedPaths =
            databases.flatMap { Files.companions(of: $0) } + written + written.map { Files.draft(of: $0) }
        return limits
    }
}

extension MigrationOptions.PersistedOptions {
    /// Checks that the options are those of earlier runs.
    func check(_ earlier: Self) throws(RunError) {
        let differences = differences(from: earlier)
        guard differences.isEmpty else {
            throw .notPossible("\(differences.joined(separator: "; ")). Use --fresh to start over")
        }
    }

    /// Returns the changed options, one sentence each.
    private func differences(from earlier: Self) -> [String] {
        let values: [(name: String, value: (Self) -> String?)] = [
            ("--receipt-column", \.source.receiptColumn), ("--id-column", \.source.idColumn),
            ("--account-token-column", \.source.accountTokenColumn),
            ("--transaction-id-column", \.source.transactionIdColumn), ("--bundle-id", \.app),
            ("--table", \.source.table), ("--input-format", \.source.format?.rawValue),
            ("--output-format", \.resultFormat?.rawValue), ("--with-api", { "\($0.withAPI)" }),
            ("--allow-unverified", { "\($0.allowUnverified)" }),
        ]
        let sentences = values.filter { $0.value(earlier) != $0.value(self) }.map { name, value in
            "\(name) was \(value(earlier) ?? "the default") and is now \(value(self) ?? "the default")"
        }
        guard let before = earlier.trust, let now = trust, before != now else { return sentences }
        return sentences + ["the certificates of --roots, trust.roots or trust.intermediates have changed"]
    }
}
