import ReceiptBridgeBase
package import ReceiptBridgeComparison

extension MigrationReport {
    /// Creates the report of a run.
    package init(options: MigrationOptions, ending: MigrationResult) {
        self.init(
            source: options.source, destination: options.destination, options: Options(options), result: ending)
    }
}

extension MigrationReport.Options {
    /// The options that a report lists.
    fileprivate init(_ options: MigrationOptions) {
        self.init()
        withAPI = options.persisted.withAPI
        allowUnverified = options.persisted.allowUnverified
        receiptColumn = options.persisted.source.receiptColumn
        idColumn = options.persisted.source.idColumn
        accountTokenColumn = options.persisted.source.accountTokenColumn
        setsAccountTokens = options.setsAccountTokens
        table = options.persisted.source.table
        (isPlan, isFresh, isRefresh) = (options.isPlan, options.isFresh, options.isRefresh)
        workers = options.workers
        (rowLimit, timeLimit) = (options.limits.items, options.limits.time)
    }
}
