import ReceiptBridgeStorage
import Testing

@Suite("Values of PostgreSQL")
struct PostgreSQLValueTests {
    @Test("A missing value is null")
    func null() {
        #expect(PostgreSQLValue(nil as String?) == .null && PostgreSQLValue(nil as Int64?) == nil)
        #expect(PostgreSQLValue(7) == .integer(7) && PostgreSQLValue("a") == .text("a"))
    }
}
