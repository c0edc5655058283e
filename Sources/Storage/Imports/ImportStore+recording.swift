import ReceiptBridgeBase

extension ImportStore {
    /// Records the result of a lookup. Waiting customers with an identifier of the customer's history are merged into
    /// it. If the lookup failed, the data of the previous one stays. Does nothing if another worker has the task, or if
    /// the customer was merged into another one.
    ///
    /// A customer of a download is never merged with another one. One of rows that are not authentic is merged if they
    /// name nothing but an id of this history, which then must be that of one customer.
    ///
    /// - Parameter scopes: the scopes of the customer's app.
    /// - Returns: The customers that were merged into this one.
    package func record(
        _ result: CustomerLookupResult, of customer: ImportedCustomer, _ scopes: [Int64], _ lease: ImportLease
    ) async throws(StorageError) -> [Int64] {
        let (key, dialect) = (customer.key, dialect)
        let isPresent = SQLStatement(
            "SELECT id FROM importCustomer WHERE id = $1 \(dialect.locking)", .integer(key))
        let others = sharing(result, with: customer, scopes, lease.run)
        return try await transaction(
            SQLStep<Row, [Int64]>.run([lease.hold(dialect), isPresent] + others) { (rows) throws(StorageError) in
                guard !rows[0].isEmpty, !rows[1].isEmpty else { return .end([]) }
                var (merged, updates): (Set<Int64>, ImportUpdates) = ([], ImportUpdates())
                for row in rows.dropFirst(2).joined() {
                    merged.insert(try row.rowID(0))
                    let account = ImportAccount(token: try row.optionalText(2), count: try row.count(3))
                    updates.add(try row.integer(1), account, to: key)
                }
                return .end(
                    merged.sorted(),
                    after: updates.statements(dialect)
                        + ImportStoreMerge.statements(merged.sorted().map { ($0, key) }, dialect)
                        + [Self.update(result, key, dialect)])
            })
    }

    /// The statements that select the waiting customers which turn out to be the same as this one.
    private func sharing(
        _ result: CustomerLookupResult, with customer: ImportedCustomer, _ scopes: [Int64], _ run: Int64
    ) -> [SQLStatement] {
        guard case .known(let columns) = result, !columns.identifiers.isEmpty, customer.appTransactionId == nil else {
            return []
        }
        func others(in scopes: [Int64], named identifiers: [String]) -> SQLStatement {
            SQLStatement(
                """
                SELECT DISTINCT other.id, other.expires, other.accountToken, other.tokens
                FROM importIdentifier AS known JOIN importCustomer AS other ON other.id = known.customer
                WHERE known.run = $1 AND \(dialect.isAny("known.scope", "$2")) AND \(dialect.isAny("known.identifier", "$3"))
                    AND other.state = 0 AND other.id <> $4
                """, .integer(run), .integers(scopes), .texts(identifiers.map(\.withoutNull)), .integer(customer.key))
        }
        let namesOne = customer.isProven || customer.identifiers.count == 1
        return (customer.isProven ? [others(in: [customer.scope], named: columns.identifiers)] : [])
            + (namesOne ? [others(in: scopes, named: columns.identifiers.map(ImportGroup.claim))] : [])
    }

    /// The statement that stores a result.
    private static func update(_ result: CustomerLookupResult, _ key: Int64, _ dialect: SQLDialect) -> SQLStatement {
        func text(_ bytes: [UInt8]) -> SQLValue { .text(String(decoding: bytes, as: UTF8.self).withoutNull) }
        let (state, now) = (SQLValue.integer(result.state.rawValue), SQLValue(Timestamp.now))
        let start = "UPDATE importCustomer SET state = $2, askedAt = \(dialect.now("$3")), reason = $4"
        switch result {
        case .known(let columns):
            let api = columns.api
            return SQLStatement(
                """
                \(start), environment = $5, appAppleId = $6, transactions = $7, subscriptions = $8,
                    signedTransactions = $9, revision = $10, appTransaction = $11 WHERE id = $1
                """, .integer(key), state, now, SQLValue(nil as String?), .text(columns.environment.withoutNull),
                SQLValue(api.appAppleId), text(api.transactions), text(api.subscriptions),
                text(api.signedTransactions), SQLValue(api.revision), api.appTransaction.map(text))
        case .notFound(let reason):
            return SQLStatement(
                """
                \(start), transactions = NULL, subscriptions = NULL, signedTransactions = NULL, revision = NULL,
                    appTransaction = NULL WHERE id = $1
                """, .integer(key), state, now, .text(reason.withoutNull))
        case .failed(let reason):
            return SQLStatement("\(start) WHERE id = $1", .integer(key), state, now, .text(reason.withoutNull))
        }
    }
}
