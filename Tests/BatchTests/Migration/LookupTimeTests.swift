import ReceiptBridgeComparison
import Testing

import ReceiptBridgeBatch

@Suite("Time of lookups")
struct LookupTimeTests {
    @Test("The time of the lookups is a sentence")
    func time() {
        func text(_ customers: Int64, _ active: Int64?, share: Double) -> String {
            var result = MigrationResult(counts: MigrationCounts())
            var tally = CustomerTally()
            tally.waiting = customers
            (result.customers, result.activeCustomers) = (tally, active)
            return result.lookupTime(callsPerHour: 180_000 * share, share: share)
        }
        #expect(
            text(20_000_000, 6_048_000, share: 0.5)
                == "20,000,000 customers: 111 h at the full limit, 9.3 days at 0.5; active subscribers after 2.8 days")
        #expect(
            text(1_000, 100, share: 0.25)
                == "1,000 customers: 1 min at the full limit, 2 min at 0.25; active subscribers after 1 min")
        #expect(text(900_000, nil, share: 1) == "900,000 customers: 5.0 h at the full limit")
    }
}
