package import StoredRows

/// What a migration is told to do.
package struct MigrationOptions: Sendable {
    /// What must be the same whenever a run goes on.
    package struct PersistedOptions: Sendable, Hashable, Codable {
        package var source = SourceOptions()
        /// Whether customers are looked up.
        package var withAPI = false
        /// Whether receipts that are not authentic are looked up too, and marked.
        package var allowUnverified = false
        /// What tells trusted certificates from others; nil where nobody says.
        package var trust: String?

        package init() {}
    }

    /// What becomes of the account tokens in the source.
    package enum AccountTokens: Sendable, Hashable {
        /// What would be set is said, nothing is.
        case dryRun
        case set
    }

    /// A path, or `-`.
    package var source: String
    /// A path.
    package var destination: String
    package var lasting = PersistedOptions()
    /// Begins anew, even where a run could go on.
    package var isFresh = false
    /// Decoding and finding out who is who; nobody is asked and no result is written.
    package var isPlan = false
    /// Asks again about customers who are known, for what is new since.
    package var isRefresh = false
    /// Rows to take from the source in this run; nil for all.
    package var rowLimit: Int64?
    /// How long to begin new work; nil without an end.
    package var timeLimit: Duration?
    /// Batches that are decoded, and customers that are asked about, at the same time.
    package var workers: Int
    package var accountTokens = AccountTokens.dryRun
    /// How much work a crash may cost.
    package var checkpointInterval = Duration.seconds(1)
    /// Files to write a report to at the end, each `.html` or `.json`.
    package var reports: [String] = []

    package init(source: String, destination: String, workers: Int) {
        self.source = source
        self.destination = destination
        self.workers = workers
    }

    /// Beside the destination.
    package var progressPath: String { destination + ".progress" }

    /// Without what the run itself writes, drafts that a run which died left behind among it.
    var sourceLimits: SourceLimits {
        var limits = SourceLimits()
        let databases = [destination, Files.draft(of: destination), progressPath]
        limits.leftOut = databases.flatMap { Files.companions(of: $0) } + reports + reports.map { Files.draft(of: $0) }
        return limits
    }
}

extension MigrationOptions.PersistedOptions {
    /// What differs, a sentence each.
    func differences(from earlier: Self) -> [String] {
        func displayText(_ text: String?) -> String { text ?? "the usual one" }
        let pairs: [(name: String, before: String, now: String)] = [
            ("--receipt-column", displayText(earlier.source.receiptColumn), displayText(source.receiptColumn)),
            ("--id-column", displayText(earlier.source.idColumn), displayText(source.idColumn)),
            (
                "--account-token-column", displayText(earlier.source.accountTokenColumn),
                displayText(source.accountTokenColumn)
            ),
            ("--table", displayText(earlier.source.table), displayText(source.table)),
            ("--with-api", "\(earlier.withAPI)", "\(withAPI)"),
            ("--allow-unverified", "\(earlier.allowUnverified)", "\(allowUnverified)"),
        ]
        let sentences = pairs.filter { $0.before != $0.now }.map {
            "\($0.name) was \($0.before) and is \($0.now) now"
        }
        guard let before = earlier.trust, let now = trust, before != now else { return sentences }
        return sentences + ["the certificates of --roots, trust.roots or trust.intermediates are others now"]
    }
}
