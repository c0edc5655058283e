import ReceiptBridgeAdministration
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeStorage
import Testing

@Suite("Lists of customers to sweep")
struct RefundListTests {
    private func read(_ text: String) async throws -> RefundList {
        let bundleId = try #require(BundleIdentifier(rawValue: "com.example.app"))
        return try await RefundList(Array(text.utf8), environment: .production) { _, _ in bundleId }
    }

    @Test("A list has ids, objects with an id and result lines of a migration, and each customer is swept once")
    func lines() async throws {
        let list = try await read(
            """
            101
              102\t a remark

            {"transactionId": "103", "environment": "Sandbox"}
            {"id": "r1", "originalTransactionIds": ["104", "105"], "bundleId": "com.example.other"}
            {"id": "r2", "originalTransactionIds": []}
            {"id": "106"}
            101
            """)
        #expect(list.entries.map(\.identifier.rawValue) == ["101", "102", "103", "104", "106"])
        #expect(
            list.entries.map(\.scope.environment) == [.production, .production, .sandbox, .production, .production])
        #expect(list.entries[3].scope.bundleId.rawValue == "com.example.other" && list.skipped == 1)
    }

    @Test(
        "Other lines are an error that names the line",
        arguments: [
            ("1\nabc\n", "line 2"), ("{\"id\": 5}", "line 1"), ("1\n2\n{", "line 3"), ("0", "line 1"),
            ("{\"id\": \"7\", \"environment\": \"sandbox\"}", "line 1"),
            ("1\n{\"id\": \"7\", \"bundleId\": \"a b\"}", "line 2"),
        ])
    func mistakes(text: String, line: String) async throws {
        do {
            _ = try await read(text)
            Issue.record("\(text) was read")
        } catch let error as InvalidOperation {
            #expect(error.reason.contains(line), "\(error)")
        }
    }
}
