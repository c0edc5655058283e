/// A table of the store, declared once for every engine. What creates it, what a copy of a store contains of it and
/// which kind of data it is follow from the declaration.
package struct StoreTable: Sendable {
    /// A column. It is NOT NULL, in both engines and copied, unless the declaration says otherwise.
    package struct Column: Sendable {
        package let name: String
        package let type: ColumnType
        /// The end of the SQL definition, for example `DEFAULT 0`.
        var constraint: String?
        /// What the row id in this column refers to; `nil` for any other column.
        package fileprivate(set) var reference: Reference?
        /// Whether PostgreSQL checks the reference.
        var isChecked = true
        /// How the rows are numbered, if this is their number.
        var numbering: Numbering?
        /// Another type in PostgreSQL than that of ``type``.
        var postgreSQLType: String?
        /// The numbers that an intact row can have, see ``StoredNumber``; `nil` for all, and if it has no numbers.
        package var range: ClosedRange<Int64>?
        package var isOptional = false
        /// The only engine that has the column; `nil` if both have it. Such a column is not copied.
        var engine: SQLDialect?
        var isCopied = true
    }

    /// The type of a column. An engine stores it as its own type, for example a JWS as a text or as bytes.
    package enum ColumnType: Sendable, Hashable {
        case integer, boolean, text, bytes, jws
    }

    /// How an engine numbers rows.
    enum Numbering: Sendable {
        /// By the next number.
        case ordinary
        /// As ``ordinary``. In SQLite, the number is no column. So the column is ``SQLDialect/rowID``.
        case hiddenInSQLite
        /// By a number that no row had before.
        case neverReused
        /// As ``neverReused``. In PostgreSQL, statements assign the number.
        case assigned
    }

    /// A table whose row ids other tables contain. A comparison of stores replaces the row id by the content of that
    /// row.
    package enum Reference: String, Sendable {
        case app, notification, customer, addressee, difference, importCustomer

        /// The name of the column with the row id.
        var key: String { self == .difference ? "key" : "id" }

        /// A subquery for the content of the row. Its SQL is the same in all engines.
        func content(of id: String) -> String {
            switch self {
            case .app: "(SELECT bundleId || ' ' || environment FROM app WHERE app.id = \(id))"
            case .notification: "(SELECT uuid FROM notification WHERE notification.id = \(id))"
            case .customer:
                "(SELECT min(transactionId) FROM transactionRecord AS record WHERE record.customer = \(id))"
            case .addressee:
                "(SELECT bundleId || ' ' || form || ' ' || url FROM addressee WHERE addressee.id = \(id))"
            case .difference:
                """
                (SELECT bundleId || ' ' || environment || ' ' || verdict || ' ' || rule || ' ' || path
                FROM difference WHERE difference.key = \(id))
                """
            case .importCustomer: "(SELECT bundleId FROM importCustomer WHERE importCustomer.id = \(id))"
            }
        }
    }

    struct Index: Sendable {
        let name: String
        /// What follows the name of the table: columns and condition.
        let definition: String
        let engine: SQLDialect?
        let isUnique: Bool

        init(_ name: String, _ definition: String, _ engine: SQLDialect? = nil, isUnique: Bool = false) {
            (self.name, self.definition, self.engine, self.isUnique) = (name, definition, engine, isUnique)
        }
    }

    package let name: String
    package let data: DataKind
    /// The name in the output of a copy and of a comparison; empty if the table is not copied.
    package let title: String
    package let key: [String]
    package let columns: [Column]
    /// The only engine that has the table; `nil` if both have it.
    let engine: SQLDialect?
    /// The columns, separated by commas, whose values together occur in one row only.
    let unique: String?
    let indexes: [Index]

    /// - Parameter key: the columns that identify a row; `nil` for the number of the row.
    init(
        _ name: String, _ data: DataKind, copiedAs title: String = "", only engine: SQLDialect? = nil,
        key: [String]? = nil, unique: String? = nil, _ columns: [Column], indexes: [Index] = []
    ) {
        (self.name, self.data, self.title, self.engine) = (name, data, title, engine)
        self.key = key ?? columns.filter { $0.numbering != nil }.map(\.name)
        (self.unique, self.columns, self.indexes) = (unique, columns, indexes)
    }

    package var copiedColumns: [Column] { columns.filter { $0.isCopied && $0.engine == nil } }

    /// The column with the number of a row; `nil` if rows are not numbered.
    package var number: String? { columns.first { $0.numbering != nil }?.name }

    var hasHiddenNumber: Bool { columns.contains { $0.numbering == .hiddenInSQLite } }
}

extension StoreTable.Column {
    static func number(_ name: String = "id", _ numbering: StoreTable.Numbering = .ordinary) -> Self {
        Self(name: name, type: .integer, numbering: numbering)
    }

    static func integer(_ name: String, _ constraint: String? = nil) -> Self {
        Self(name: name, type: .integer, constraint: constraint, range: StoredNumber.integers)
    }

    /// A number of something.
    static func count(_ name: String, _ constraint: String? = nil) -> Self {
        Self(name: name, type: .integer, constraint: constraint, range: StoredNumber.counts)
    }

    /// Milliseconds since 1970.
    static func time(_ name: String, _ constraint: String? = nil) -> Self {
        Self(name: name, type: .integer, constraint: constraint, range: StoredNumber.times)
    }

    /// Any number, which is only compared.
    static func digest(_ name: String, _ constraint: String? = nil) -> Self {
        Self(name: name, type: .integer, constraint: constraint)
    }

    static func boolean(_ name: String, _ constraint: String? = nil) -> Self {
        Self(name: name, type: .boolean, constraint: constraint)
    }

    static func text(_ name: String) -> Self { Self(name: name, type: .text) }
    static func bytes(_ name: String) -> Self { Self(name: name, type: .bytes) }
    static func jws(_ name: String) -> Self { Self(name: name, type: .jws) }

    /// A column of a type that only PostgreSQL has.
    static func postgreSQL(_ name: String, _ type: String, _ constraint: String? = nil) -> Self {
        Self(name: name, type: .text, constraint: constraint, postgreSQLType: type, engine: .postgreSQL)
    }

    /// The constraint is for example what happens to this row if the other one is deleted.
    static func reference(_ name: String, _ reference: StoreTable.Reference, _ constraint: String? = nil) -> Self {
        Self(name: name, type: .integer, constraint: constraint, reference: reference)
    }

    /// The app and environment that a row belongs to.
    static var app: Self { reference("app", .app) }

    /// As ``app``. PostgreSQL does not check the reference, because each check would lock the row of the app, and
    /// transactions of several servers would write their common locks of it to the log. A row id of an app comes from a
    /// committed row of the table, and rows are never deleted from it, so there is nothing to check.
    static var uncheckedApp: Self { app.with { $0.isChecked = false } }

    var optional: Self { with { $0.isOptional = true } }
    /// The column is not copied, because it is filled again or is of use only to running servers.
    var notCopied: Self { with { $0.isCopied = false } }
    func only(_ engine: SQLDialect) -> Self { with { $0.engine = engine } }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var column = self
        change(&column)
        return column
    }
}
