import Base
import GRDB

extension SQLiteStore: ConsumptionCaseStore {
    /// Creates the table of what became of Apple's requests for consumption information, and the index of the requests.
    static func addConsumptionCases(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE consumptionCase (
                    notification INTEGER PRIMARY KEY REFERENCES notification (id) ON DELETE CASCADE,
                    answeredAt INTEGER, decision TEXT, settledAt INTEGER);
                CREATE INDEX consumptionRequestByArrival ON notification (receivedAt)
                    WHERE type = 'CONSUMPTION_REQUEST';
                """)
    }
}
