import ArgumentParser

/// What options need. An option that would be ignored is rejected, because it was given for an effect.
///
/// Not in the table: limits (`--budget`, `--max-hours`), which nothing exceeds without calls, and what a run would do
/// beside `--plan`, because a plan is the command of the run with one more option.
extension MigrateCommand {
    enum Need {
        /// Stored progress, which a filter does not have: its output must depend on its input only, because a scheduler
        /// may run it several times over the same rows.
        case progress
        case file, database, lookups, unverified, accountTokenColumn
    }

    private var needs: [(option: String, isGiven: Bool, needs: [Need])] {
        [
            ("--with-api", withApi, [.progress]),
            ("--plan", plan, [.progress, .lookups]),
            ("--refresh", refresh, [.progress, .file, .lookups]),
            ("--active-first", activeFirst, [.progress, .lookups]),
            ("--no-store", noStore, [.progress, .lookups]),
            ("--allow-unverified", allowUnverified, [.progress, .lookups]),
            ("--bundle-id", bundleId != nil, [.progress, .lookups, .unverified]),
            ("--account-token-column", accountTokenColumn != nil, [.progress, .file, .lookups]),
            ("--set-account-tokens", setAccountTokens, [.progress, .file, .lookups, .accountTokenColumn]),
            ("--transactions", transactions != nil, [.progress, .file, .lookups]),
            ("--subscriptions", subscriptions != nil, [.progress, .file, .lookups]),
            ("--report", !report.isEmpty, [.progress, .file]),
            ("--output-format", outputFormat != nil, [.file]),
            ("--shard", shard != nil, [.database]),
            ("--table", rows.table != nil, [.progress]),
            ("--fresh", rows.fresh, [.progress]),
            ("--json", json, [.progress]),
            ("--limit", rows.limit != nil, [.progress]),
            ("--max-hours", rows.maxHours != nil, [.progress]),
        ]
    }

    /// Rejects options whose needs are not met, as far as the command line tells.
    func validateNeeds() throws {
        let missing: [(need: Need, isMissing: Bool)] = [
            (.progress, isFilter), (.file, isShared), (.database, !isShared),
            (.accountTokenColumn, accountTokenColumn == nil), (.unverified, !allowUnverified),
        ]
        for (need, isMissing) in missing where isMissing {
            if let sentence = sentence(without: need) { throw ValidationError(sentence) }
        }
    }

    /// Returns a sentence about the options that need something; `nil` if none was given.
    func sentence(without need: Need) -> String? {
        let options = needs.filter { $0.isGiven && $0.needs.contains(need) }.map(\.option)
        guard !options.isEmpty else { return nil }
        let names = options.joined(separator: ", ")
        let verb = options.count == 1 ? "needs" : "need"
        return switch need {
        case .progress: "\(names) cannot be combined with --to -: a filter only decodes, and stores nothing"
        case .file: "\(names) \(verb) a file as the destination, not postgresql://"
        case .database: "\(names) \(verb) a postgresql:// destination"
        case .lookups: "\(names) \(verb) --with-api and a configuration"
        case .unverified: "\(names) \(verb) --allow-unverified"
        case .accountTokenColumn: "\(names) \(verb) --account-token-column"
        }
    }
}
