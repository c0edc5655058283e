import Base
import GRDB

extension SQLiteStore: RefundStore {
    func store(_ history: ReportedHistory, in transaction: WriteTransaction) throws {
        for (row, text, needsLookup) in history.records {
            let (original, clock) = (row.originalTransactionId, row.signedDate)
            let (isNew, owner) = try Self.applyReportedTransaction(
                row, as: text, app: history.app, since: clock, in: transaction)
            if needsLookup {
                try Self.markStale(customersOf: [original], app: history.app, since: clock, in: transaction.db)
            }
            guard isNew, recordsEvents else { continue }
            let key = try Self.eventKey(of: owner, original, app: history.app, in: transaction)
            let event = CustomerEvent(row, as: text, of: key, source: history.source)
            try Self.run(insertions(of: [event], in: history.scope), in: transaction.db)
        }
    }
}
