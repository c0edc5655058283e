package import Base
import PostgreSQLClient
package import Storage

extension PostgreSQLStore: RefundStore {
    @discardableResult
    package func save(
        _ refunds: [RefundRow], of target: RefundTarget, revision: String?, at now: Timestamp, source: EventSource,
        reportingTo targetKeys: [ForwardingTargetKey]
    ) async throws(StorageError) -> Int {
        let texts = await encoder.encode(refunds.map(\.transaction.text))
        let app = try await appID(of: target.scope)
        let sweep = PostgreSQLQuery(
            """
            INSERT INTO refundSweep (app, identifier, revision, sweptAt) VALUES ($1, $2, $3, $4)
            ON CONFLICT (identifier, app) DO UPDATE SET revision = excluded.revision, sweptAt = excluded.sweptAt
            """,
            [.integer(app), .text(target.identifier.rawValue), PostgreSQLValue(revision), PostgreSQLValue(now)])
        guard !refunds.isEmpty else {
            try await write([sweep])
            return 0
        }
        let write = RefundWrite(
            refunds, as: texts, app: app, scope: target.scope, source: source, recordsEvents: recordsEvents,
            reports: .init(targetKeys: targetKeys, at: now))
        let change = PostgreSQLQuery(add(StoredChange(refunds, in: target.scope), app: app))
        return try await transaction { transaction in
            let (queries, unknown) = try await write.queries(in: transaction)
            _ = try await transaction.run(queries + [sweep, change])
            return unknown
        }
    }
}
