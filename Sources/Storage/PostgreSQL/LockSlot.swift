import ReceiptBridgeCryptography

/// A row of the table `lockSlot`, which stands for the identifiers with one digest. A transaction that writes about an
/// identifier locks its slot first, so that no other transaction changes the rows of the identifier meanwhile. This
/// also holds for rows that do not exist yet.
///
/// All servers must compute the same slot, so neither the digest nor ``count`` can be changed.
struct LockSlot: Sendable, Hashable {
    /// Number of slots. Two batches of 64 notifications then rarely wait for each other.
    static let count: Int64 = 65_536

    let id: Int64

    /// - Parameter app: row id of the app.
    init(_ identifier: String, app: Int64) { id = SHA.short("\(app) \(identifier)") & (Self.count - 1) }

    /// Locks slots until the end of the transaction, in ascending order. The first statement of a transaction.
    static func statement(_ slots: some Sequence<LockSlot>) -> SQLStatement {
        SQLStatement(
            "SELECT slot FROM lockSlot WHERE slot = ANY ($1::bigint[]) ORDER BY slot FOR UPDATE",
            .integers(Set(slots).map(\.id).sorted()))
    }

    static let creation = "INSERT INTO lockSlot SELECT generate_series(0, \(count - 1))"
}
