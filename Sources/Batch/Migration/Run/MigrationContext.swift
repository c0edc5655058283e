import ReceiptBridgeBase
package import ReceiptBridgeReceipts

/// What a run of a migration works with, whatever its destination is.
package struct MigrationContext: Sendable {
    let options: MigrationOptions
    let lookups: (any CustomerLookupService)?
    let monitor: MigrationMonitor
    let notify: @Sendable (String) -> Void
    private let reader: ReceiptReader
    private let rule: UnverifiedRule

    /// - Parameters:
    ///   - lookups: looks up customers; `nil` without the App Store Server API.
    ///   - monitor: receives the progress and stops the run.
    ///   - notify: prints a message of one sentence.
    package init(
        _ options: MigrationOptions, reader: ReceiptReader, lookups: (any CustomerLookupService)?,
        monitor: MigrationMonitor, notify: @escaping @Sendable (String) -> Void
    ) {
        (self.options, self.lookups, self.monitor, self.notify) = (options, lookups, monitor, notify)
        self.reader = reader
        var handles: (@Sendable (String) -> Bool)?
        if let lookups { handles = { lookups.handles($0) } }
        rule = UnverifiedRule(
            isAllowed: options.persisted.allowUnverified, app: options.persisted.app, handles: handles)
    }

    func decode(_ row: SourceRow) -> DecodedRow {
        DecodedRow(row, reader: reader, rule: rule, lookups: lookups)
    }

    /// Returns the reason to stop a run that has read some rows; `nil` if it can continue. `--limit` is a limit on
    /// rows, and does not stop what comes after reading.
    func stop(after rows: Int64 = 0) -> RunStop? {
        options.limits.stop(after: rows, isStopped: monitor.isStopped)
    }
}
