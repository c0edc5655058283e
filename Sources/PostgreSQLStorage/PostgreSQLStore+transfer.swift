package import Storage

extension PostgreSQLStore: StoreTransfer {
    /// Continues the numbers of the rows, and fills the column that only this engine has.
    package var completionOfCopy: [SQLStatement] {
        StoreTable.copied.compactMap { table in
            table.number.map { number in
                SQLStatement(
                    """
                    SELECT setval(pg_get_serial_sequence('\(table.name)', '\(number)'), coalesce(max(\(number)), 1),
                        max(\(number)) IS NOT NULL) FROM \(table.name)
                    """)
            }
        } + [
            SQLStatement(
                """
                UPDATE delivery SET subject = originalTransactionId FROM notification
                WHERE notification.id = delivery.notification
                """)
        ]
    }
}
