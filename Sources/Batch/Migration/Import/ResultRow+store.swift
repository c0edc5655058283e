import ReceiptBridgeBase
import Foundation
import ReceiptBridgeStorage

extension ResultRow {
    /// The values of ``StoreTable/importedColumns``.
    var values: [SQLValue] {
        func json(_ texts: [String]) -> SQLValue { .text(String(decoding: JSONWriter.array(texts), as: UTF8.self)) }
        return [
            .integer(row), .text(id), SQLValue(sourceId), SQLValue(digest), .text(outcome.rawValue),
            SQLValue(reason == Self.notAskedYet ? nil : reason), SQLValue(place), SQLValue(explanation), .text(kind),
            .boolean(verified), json(repairs), SQLValue(environment), SQLValue(bundleId), json(originalTransactionIds),
            json(transactionIds), json(unverifiedIds), SQLValue(year), .boolean(lacksKey),
        ]
    }

    /// Reads a row of ``SQLiteStore/results(of:after:_:)``.
    init(_ row: some SQLRow) throws(StorageError) {
        func texts(_ column: Int) throws(StorageError) -> [String] {
            let json = try row.text(column)
            guard json != "[]" else { return [] }
            guard let texts = try? JSONDecoder().decode([String].self, from: Data(json.utf8)) else {
                throw row.damage(column)
            }
            return texts
        }
        func bytes(_ column: Int) throws(StorageError) -> [UInt8]? {
            guard let text = try row.optionalText(column) else { return nil }
            // A damaged page of zeros must not get into a result.
            guard !text.utf8.contains(0) else { throw row.damage(column) }
            return Array(text.utf8)
        }
        guard let outcome = MigrationOutcome(rawValue: try row.text(6)) else { throw row.damage(6) }
        self.init(
            id: try row.text(1), outcome: outcome, reason: try row.optionalText(7), kind: try row.text(8),
            verified: try row.boolean(9))
        (self.row, sourceId) = (try row.rowID(0), try row.optionalText(2))
        (year, lacksKey, digest) = (try row.optionalInteger(3), try row.boolean(4), try row.optionalText(5))
        (repairs, environment, bundleId) = (try texts(10), try row.optionalText(11), try row.optionalText(12))
        (originalTransactionIds, transactionIds, unverifiedIds) = (try texts(13), try texts(14), try texts(15))
        guard let transactions = try bytes(17) else { return }
        api = APIColumns(
            appAppleId: try row.optionalInteger(16), transactions: transactions, subscriptions: try bytes(18) ?? [],
            signedTransactions: try bytes(19) ?? [], revision: try row.optionalText(20), appTransaction: try bytes(21))
    }
}
