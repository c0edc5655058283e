extension StoreTable {
    package var copy: TransferQuery {
        TransferQuery(table: self, values: copiedColumns.map { ("\(name).\($0.name)", $0.type) })
    }

    /// A query for the content of the rows, without row ids, so that it is the same in every store with the same data.
    package var content: TransferQuery {
        let values = copiedColumns.filter { $0.numbering == nil }.map { column -> (String, ColumnType) in
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
    package let table: StoreTable
    /// The values of a row: expressions of SQL that every engine understands, and their types.
    package let values: [(expression: String, type: StoreTable.ColumnType)]

    /// The types of the columns that a row of the result has: those of the key, then those of ``values``.
    var types: [StoreTable.ColumnType] {
        table.key.map { name in table.columns.first { $0.name == name }?.type ?? .integer } + values.map(\.type)
    }

    /// The SQL. If `isContinued`, the parameters `$1`, … are the key of the last row.
    func sql(isContinued: Bool, limit: Int, _ dialect: SQLDialect) -> String {
        let key = table.key.map { "\(table.name).\($0)" }
        let order = key.joined(separator: ", ")
        let parameters = key.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        let sql = """
            SELECT \((key + values.map(\.expression)).joined(separator: ", ")) FROM \(table.name)
            \(isContinued ? "WHERE (\(order)) > (\(parameters))" : "") ORDER BY \(order) LIMIT \(limit)
            """
        return table.hasHiddenNumber ? sql.replacing("\(table.name).id", with: "\(table.name).\(dialect.rowID)") : sql
    }
}

/// A row of the result of a ``TransferQuery``.
package struct TransferRow: Sendable, Hashable {
    package let key: TransferKey
    package let values: [SQLValue]

    package init(_ columns: [SQLValue], of query: TransferQuery) {
        key = TransferKey(Array(columns.prefix(query.table.key.count)))
        values = Array(columns.dropFirst(query.table.key.count))
    }
}
