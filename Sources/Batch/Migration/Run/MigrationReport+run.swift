package import ReceiptBridgeComparison

extension MigrationReport {
    /// Creates the report of a run.
    package init(options: MigrationOptions, ending: Migration.RunResult) {
        self.init(
            source: options.source, destination: options.destination, options: Options(options),
            counts: ending.counts, history: ending.history)
        customers = ending.customers
        stop = ending.stop
        wasFinished = ending.wasFinished
        rowsRead = ending.rowsRead
        duration = ending.duration
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
        rowLimit = options.rowLimit
        timeLimit = options.timeLimit
    }
}
