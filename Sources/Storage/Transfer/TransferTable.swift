/// A table of the store, as it is copied and compared between engines. The names are the same in all engines.
package struct TransferTable: Sendable, Hashable {
    /// A column that is copied.
    package struct Column: Sendable, Hashable {
        package let name: String
        package let type: ColumnType
        /// What the row id in this column refers to; `nil` for any other column.
        package let reference: Reference?
    }

    /// The type of a column. An engine converts it into its own, for example a text into bytes.
    package enum ColumnType: Sendable, Hashable {
        case integer, boolean, text, bytes, jws
    }

    /// A table whose row ids other tables contain. A comparison replaces the row id by the content of that row.
    package enum Reference: Sendable, Hashable {
        case app, notification, customer, addressee, difference, rollout

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
            case .rollout: "(SELECT bundleId || ' ' || block FROM rollout WHERE rollout.id = \(id))"
            }
        }
    }

    package let name: String
    /// The name in the output of a comparison.
    package let title: String
    /// The columns that identify a row. They are among ``columns``.
    package let key: [String]
    package let columns: [Column]
    /// The columns that a comparison leaves out, because they are row ids.
    private let rowIDs: Set<String>
    /// Whether the engine numbers the rows by the column `id` or `key`.
    package var rowID: String? { rowIDs.first }

    init(_ name: String, _ title: String, key: [String], rowID: String? = nil, _ columns: [Column]) {
        self.name = name
        self.title = title
        self.key = key
        self.columns = (rowID.map { [.integer($0)] } ?? []) + columns
        rowIDs = rowID.map { [$0] } ?? []
    }

    /// A table whose rows are numbered by the engine.
    init(_ name: String, _ title: String, rowID: String = "id", _ columns: [Column]) {
        self.init(name, title, key: [rowID], rowID: rowID, columns)
    }

    /// A query for all columns.
    package var copy: TransferQuery {
        TransferQuery(table: self, values: columns.map { ("\(name).\($0.name)", $0.type) })
    }

    /// A query for the content of the rows, without row ids, so that it is the same in every store with the same data.
    package var content: TransferQuery {
        let values = columns.filter { !rowIDs.contains($0.name) }.map { column -> (String, ColumnType) in
            let expression = "\(name).\(column.name)"
            guard let reference = column.reference else { return (expression, column.type) }
            return (reference.content(of: expression), .text)
        }
        // A customer has no content of its own that identifies it.
        let own = name == "customer" ? [(Reference.customer.content(of: "customer.id"), ColumnType.text)] : []
        return TransferQuery(table: self, values: own + values)
    }
}

/// A query for rows of one table, in the order of its key.
package struct TransferQuery: Sendable {
    package let table: TransferTable
    /// The values of a row: expressions of SQL that every engine understands, and their types.
    package let values: [(expression: String, type: TransferTable.ColumnType)]

    /// The types of the columns that a row of the result has: those of the key, then those of ``values``.
    package var types: [TransferTable.ColumnType] {
        table.key.map { name in table.columns.first { $0.name == name }?.type ?? .integer } + values.map(\.type)
    }

    /// The SQL. If `isContinued`, the parameters `$1`, … are the key of the last row.
    package func sql(isContinued: Bool, limit: Int) -> String {
        let key = table.key.map { "\(table.name).\($0)" }
        let order = key.joined(separator: ", ")
        let parameters = key.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        return """
            SELECT \((key + values.map(\.expression)).joined(separator: ", ")) FROM \(table.name)
            \(isContinued ? "WHERE (\(order)) > (\(parameters))" : "") ORDER BY \(order) LIMIT \(limit)
            """
    }
}

/// A row of the result of a ``TransferQuery``.
package struct TransferRow: Sendable, Hashable {
    package let key: TransferKey
    package let values: [TransferValue]

    /// Splits the columns of a result.
    package init(_ columns: [TransferValue], of query: TransferQuery) {
        key = TransferKey(Array(columns.prefix(query.table.key.count)))
        values = Array(columns.dropFirst(query.table.key.count))
    }
}

extension TransferTable.Column {
    static func integer(_ name: String) -> Self { Self(name: name, type: .integer, reference: nil) }
    static func boolean(_ name: String) -> Self { Self(name: name, type: .boolean, reference: nil) }
    static func text(_ name: String) -> Self { Self(name: name, type: .text, reference: nil) }
    static func bytes(_ name: String) -> Self { Self(name: name, type: .bytes, reference: nil) }
    static func jws(_ name: String) -> Self { Self(name: name, type: .jws, reference: nil) }
    static func reference(_ name: String, _ reference: TransferTable.Reference) -> Self {
        Self(name: name, type: .integer, reference: reference)
    }
}
