package import Storage

/// The tables of this engine that SQLite does not have.
extension ErasureRule {
    /// Tables whose rows expire within minutes. An erasure deletes the customer's rows, and does not count them. A row of
    /// `change` can name other customers, too: every server clears the caches of all customers after an erasure.
    static let uncounted: [ErasureRule] = [
        .init("change", .changes, "(identifiers && $2 OR transactionIds && $2) AND app = $1"),
        .init("lookup", .lookups, "identifier = ANY ($2) AND app = $1"),
    ]

    /// Tables of servers without personal data, and those of ``uncounted``.
    package static let exemptOfServers: [String: DataKind] = [
        "change": .changes, "lookup": .lookups, "callBucket": .callBuckets, "server": .servers,
    ]

    /// Tables that the engine needs for itself: locks, schema steps and ids of additions. They have no values from
    /// outside.
    package static let internalTables: Set<String> = ["lockSlot", "schemaStep", "comparisonFlush", "notificationGap"]
}
