import Base
import PostgreSQLClient
import Storage

extension PostgreSQLStore: ConsumptionCaseStore {
    /// The table of what became of Apple's requests for consumption information, and the index of the requests.
    static let consumptionCasesStep = SchemaStep(
        "consumptionCases",
        [
            """
            CREATE TABLE consumptionCase (
                notification bigint PRIMARY KEY REFERENCES notification (id) ON DELETE CASCADE,
                answeredAt bigint, decision text, settledAt bigint)
            """,
            """
            CREATE INDEX consumptionRequestByArrival ON notification (receivedAt)
                WHERE type = 'CONSUMPTION_REQUEST'
            """,
        ])
}
