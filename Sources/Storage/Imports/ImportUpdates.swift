/// Changes of customers that are stored already.
struct ImportUpdates {
    private var customers: [Int64: (expires: Int64, account: ImportAccount)] = [:]
    private var gains: Set<[String]> = []

    /// Adds what other rows of a customer say.
    mutating func add(_ expires: Int64, _ account: ImportAccount, to key: Int64) {
        var known = customers[key] ?? (0, ImportAccount(token: nil))
        known.expires = max(known.expires, expires)
        known.account.add(account)
        customers[key] = known
    }

    /// Looks a customer up again if an identifier is not in its history. Its data stays until then.
    mutating func gain(_ identifier: String, _ key: Int64) { gains.insert(["\(key)", identifier]) }

    /// The statements. They lock customers in the order of their keys.
    func statements(_ dialect: SQLDialect) -> [SQLStatement] {
        let changed = customers.filter { $0.value.expires > 0 || $0.value.account.count > 0 }.sorted { $0.key < $1.key }
        let keys = changed.map(\.key) + gains.compactMap { Int64($0[0]) }
        let lock = SQLStatement(
            "SELECT id FROM importCustomer WHERE \(dialect.isAny("id", "$1")) ORDER BY id \(dialect.lockingContents)",
            .integers(keys))
        let values = changed.map { key, change -> [SQLValue] in
            [
                .integer(key), .integer(change.expires), SQLValue(change.account.token), .integer(change.account.count),
            ]
        }
        let update = dialect.each(
            values, ["key": .integer, "expires": .integer, "token": .text, "tokens": .integer]
        ) { new in
            """
            UPDATE importCustomer SET expires = \(dialect.greatest("importCustomer.expires", "new.expires")),
                tokens = CASE WHEN new.tokens = 0 THEN importCustomer.tokens
                    WHEN importCustomer.tokens = 0 THEN new.tokens
                    WHEN lower(accountToken) = lower(new.token)
                    THEN \(dialect.greatest("importCustomer.tokens", "new.tokens")) ELSE 2 END,
                accountToken = coalesce(accountToken, new.token)
            FROM \(new) WHERE importCustomer.id = new.key
            """
        }
        // A history is JSON, and the ids in it are strings, so a quoted id is searched.
        let quoted = gains.sorted { $0.lexicographicallyPrecedes($1) }.map { gain -> [SQLValue] in
            [.integer(Int64(gain[0]) ?? 0), .text("\"\(gain[1])\"")]
        }
        let request = dialect.each(quoted, ["key": .integer, "quoted": .text]) { new in
            """
            UPDATE importCustomer SET state = 0, reason = NULL FROM \(new)
            WHERE importCustomer.id = new.key AND (state <> 0 OR reason IS NOT NULL)
                AND coalesce(\(dialect.place(of: "new.quoted", in: "transactions")), 0) = 0
            """
        }
        return (keys.isEmpty || dialect == .sqlite ? [] : [lock]) + update + request
    }
}
