import ReceiptBridgeAppStore
import ReceiptBridgeBase
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeComparison
import ReceiptBridgeStorage

extension DecodedRow {
    /// The row as it is stored.
    ///
    /// - Parameter lacksKey: whether it is not looked up because its app has no key.
    func imported(lacksKey: Bool) -> ImportedRow {
        func json(_ texts: [String]) -> String { String(decoding: JSONWriter.array(texts), as: UTF8.self) }
        let result = result
        return ImportedRow(
            row: number, id: id, sourceId: result.sourceId, digest: digest, outcome: outcome.rawValue,
            failure: failure.map { ($0.code, $0.place, $0.reason) }, kind: kind, verified: verified,
            repairs: json(repairs), originalTransactionIds: json(originalTransactionIds),
            transactionIds: json(transactionIds), unverifiedIds: json(unverifiedIds), environment: environment,
            bundleId: bundleId, year: year.map(Int64.init), lacksKey: lacksKey)
    }

    /// The customer to look up; `nil` if the row has nothing to look up.
    var customer: ImportGroup? {
        guard let bundleId, downloadIdentifier != nil || !identifiers.isEmpty else { return nil }
        return ImportGroup(
            bundleId: bundleId, environment: lookupEnvironment, identifiers: identifiers, isProven: verified,
            download: downloadIdentifier, expires: expires,
            // A text that is not a UUID is kept, so that it is counted when tokens are set.
            accountToken: accountToken.map { AccountToken($0)?.text ?? $0 })
    }
}

/// Decoded rows that wait to be stored, with their customers.
struct ImportBuffer {
    private(set) var rows: [(row: ImportedRow, place: Int?)] = []
    private var customers = ImportGroups()

    /// Adds a row.
    ///
    /// - Parameter isLookedUp: whether its customer is to be looked up.
    mutating func add(_ row: DecodedRow, isLookedUp: Bool = true, lacksKey: Bool = false) {
        let place = isLookedUp ? row.customer.map { customers.add($0) } : nil
        rows.append((row.imported(lacksKey: lacksKey), place))
    }

    /// Stores the rows.
    ///
    /// - Returns: `false` if another worker has the chunk.
    mutating func store(_ mark: ImportMark, by worker: ImportWorker) async throws(RunError) -> Bool {
        let (groups, indices) = customers.all()
        let (rows, run) = (rows.map { (row: $0.row, group: $0.place.map { indices[$0] }) }, worker.run)
        self = Self()
        return try await worker.on { (store) throws(StorageError) in
            try await store.add(rows, of: groups, to: run, mark)
        }
    }
}

extension ResultRow {
    /// The result of a row with the data of its customer.
    init(_ row: ImportedRow, hasCustomer: Bool, _ finding: CustomerLookupResult?) throws {
        func texts(_ json: String) throws -> [String] {
            json == "[]" ? [] : try JSONDecoder().decode([String].self, from: Data(json.utf8))
        }
        guard let outcome = MigrationOutcome(rawValue: row.outcome) else {
            throw StorageError(.damaged, at: "row \(row.row)", "unknown outcome")
        }
        self.init(
            id: row.id, digest: row.digest, outcome: outcome,
            reason: row.failure?.code ?? (outcome == .failed ? Self.notAskedYet : nil), kind: row.kind,
            verified: row.verified, repairs: try texts(row.repairs), environment: row.environment,
            bundleId: row.bundleId, originalTransactionIds: try texts(row.originalTransactionIds),
            transactionIds: try texts(row.transactionIds), unverifiedIds: try texts(row.unverifiedIds), row: row.row,
            sourceId: row.sourceId)
        guard hasCustomer else { return }
        switch finding {
        case .known(let columns):
            (self.outcome, reason, api) = (.migrated, row.failure?.code, columns.api)
            // What a row of ids says about its environment is not proven.
            if digest == nil { environment = columns.environment }
        case .notFound(let reason): (self.outcome, self.reason) = (.notFound, reason)
        case .failed(let reason): (self.outcome, self.reason) = (.failed, reason)
        case nil: (self.outcome, reason) = (.failed, Self.notAskedYet)
        }
    }

    static let notAskedYet = "notAskedYet"
}

extension Refusal {
    /// The entry in the list of refused rows.
    init(_ row: ImportedRow) {
        self.init(
            row: row.row, id: row.id, code: row.failure?.code ?? "", place: row.failure?.place ?? "",
            reason: row.failure?.reason ?? "")
    }
}
