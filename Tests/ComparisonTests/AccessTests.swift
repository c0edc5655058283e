import ReceiptBridgeComparison
import Testing

/// Regression tests: the period that ends last must not be used if it was refunded or upgraded.
@Suite("Entitlement by periods and by statuses")
struct AccessTests {
    @Test("A refunded year does not end the access of a month that was bought after it")
    func refundedYear() throws {
        var fixture = Self.withRefundedYear
        #expect(try fixture.differences() == [])
        fixture.status = 4
        #expect(try fixture.differences() == [])
    }

    @Test("A month that runs after a refunded year contradicts \"expired\" and \"revoked\"", arguments: [2, 5])
    func hiddenByRefund(status: Int) throws {
        var fixture = Self.withRefundedYear
        fixture.status = status
        #expect(try fixture.described() == ["unexpected entitlement subscriptions[100].status"])
        let difference = try #require(try fixture.differences().first)
        #expect(difference.verifyReceipt == .text("active") && difference.serverAPI == .number(Int64(status)))
    }

    @Test("An upgraded year gives no access after the period it was upgraded to has expired", arguments: [2, 3])
    func upgradedYear(status: Int) throws {
        var fixture = Self.withUpgradedYear
        fixture.end("101", at: ComparisonFixture.ago(1))
        fixture.status = status
        #expect(try fixture.differences() == [])
    }

    @Test("An upgraded year does not hide that the period it was upgraded to has expired")
    func hiddenByUpgrade() throws {
        var fixture = Self.withUpgradedYear
        fixture.end("101", at: ComparisonFixture.ago(1))
        #expect(try fixture.described() == ["unexpected entitlement subscriptions[100].status"])
        #expect(try fixture.differences().first?.verifyReceipt == .text("over"))
    }

    @Test("A subscription is not considered expired if the period it was upgraded to is not listed")
    func openUpgrade() throws {
        var fixture = Self.withUpgradedYear
        fixture.remove("100")
        fixture.remove("101")
        fixture.snapshot = []
        #expect(try fixture.differences() == [])
        fixture.status = 2
        #expect(try fixture.differences() == [])
    }

    @Test("A subscription whose only running period was refunded has expired")
    func refunded() throws {
        var fixture = ComparisonFixture()
        fixture.refund("101", daysAgo: 5)
        #expect(try fixture.described() == ["unexpected entitlement subscriptions[100].status"])
        for status in [2, 3, 4, 5] {
            fixture.status = status
            #expect(try fixture.differences() == [], "\(status)")
        }
    }

    @Test("A grace period extends the most recent purchase, even after a refunded year")
    func grace() throws {
        var fixture = Self.withRefundedYear
        fixture.end("101", at: ComparisonFixture.ago(1))
        fixture.renewals[0]["grace_period_expires_date_ms"] = "\(ComparisonFixture.ago(-5))"
        fixture.renewalInfo[0]["gracePeriodExpiresDate"] = ComparisonFixture.ago(-5)
        for status in [1, 3, 4] {
            fixture.status = status
            #expect(try fixture.differences() == [], "\(status)")
        }
        for status in [2, 5] {
            fixture.status = status
            #expect(try fixture.described() == ["unexpected entitlement subscriptions[100].status"], "\(status)")
        }
    }

    @Test("A grace period extends nothing if the most recent purchase was refunded")
    func graceAfterRefund() throws {
        var fixture = ComparisonFixture()
        fixture.end("101", at: ComparisonFixture.ago(1))
        fixture.refund("101", daysAgo: 5)
        fixture.renewals[0]["grace_period_expires_date_ms"] = "\(ComparisonFixture.ago(-5))"
        fixture.renewalInfo[0]["gracePeriodExpiresDate"] = ComparisonFixture.ago(-5)
        fixture.status = 5
        #expect(try fixture.differences() == [])
        fixture.status = 1
        #expect(try fixture.described() == ["unexpected entitlement subscriptions[100].status"])
    }

    @Test("Each subscription of a group is evaluated by its own periods")
    func twoOfOneGroup() throws {
        var fixture = ComparisonFixture()
        fixture.refund("101", daysAgo: 5)
        fixture.add(ComparisonFixture.period("500", start: ComparisonFixture.ago(5)))
        fixture.mark("500", wire: ["original_transaction_id": "500"], row: ["originalTransactionId": "500"])
        func judged(_ first: Int64, _ second: Int64) throws -> [String] {
            var serverAPI = try fixture.serverAPI()
            serverAPI.statuses = ["100": first, "500": second]
            let comparison = Comparison(
                verifyReceipt: try fixture.verifyReceipt(), serverAPI: serverAPI, context: fixture.context)
            return comparison.differences.map { "\($0.rule) \($0.fullPath)" }
        }
        #expect(try judged(5, 1) == [])
        #expect(try judged(1, 5) == ["entitlement subscriptions[100].status", "entitlement subscriptions[500].status"])
    }

    @Test("The expiration date of a refunded year does not affect the rule for recently expired periods")
    func recentExpiry() throws {
        var fixture = Self.withRefundedYear
        fixture.end("101", at: ComparisonFixture.now + 60_000)
        fixture.renewals[0]["auto_renew_status"] = "0"
        #expect(try fixture.described() == ["expected recentExpiry renewals[100].autoRenewStatus"])
    }

    private static var withRefundedYear: ComparisonFixture {
        var fixture = withYear
        fixture.refund("99", daysAgo: 50)
        return fixture
    }

    private static var withUpgradedYear: ComparisonFixture {
        var fixture = withYear
        fixture.mark("99", wire: ["is_upgraded": "true"], row: ["isUpgraded": true])
        return fixture
    }

    /// Two months that were bought after a year that ends 300 days later.
    private static var withYear: ComparisonFixture {
        var fixture = ComparisonFixture()
        fixture.add(ComparisonFixture.period("99", start: ComparisonFixture.ago(65)))
        fixture.end("99", at: ComparisonFixture.ago(-300))
        fixture.mark("99", wire: ["product_id": "yearly"], row: ["productId": "yearly"])
        return fixture
    }
}

extension ComparisonFixture {
    fileprivate mutating func mark(_ id: String, wire: Object, row: Object) {
        for index in latest.indices where latest[index]["transaction_id"] as? String == id {
            latest[index].merge(wire) { $1 }
        }
        for index in history.indices where history[index]["transactionId"] as? String == id {
            history[index].merge(row) { $1 }
        }
    }

    fileprivate mutating func refund(_ id: String, daysAgo days: Int64) {
        let date = Self.ago(days)
        mark(
            id, wire: ["cancellation_date_ms": "\(date)", "cancellation_reason": "0"],
            row: ["revocationDate": date, "revocationReason": 0])
    }

    fileprivate mutating func end(_ id: String, at date: Int64) {
        mark(id, wire: ["expires_date_ms": "\(date)"], row: ["expiresDate": date])
    }

    fileprivate mutating func remove(_ id: String) {
        latest.removeAll { $0["transaction_id"] as? String == id }
        history.removeAll { $0["transactionId"] as? String == id }
    }
}
