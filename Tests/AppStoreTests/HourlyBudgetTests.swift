import ReceiptBridgeAppStore
import ReceiptBridgeBase
import Testing

@Suite("Hourly budget")
struct HourlyBudgetTests {
    @Test("The reserve is available only to live calls")
    func reserve() {
        var budget = HourlyBudget(callsPerHour: 100, reserve: 0.3, now: .zero)
        for _ in 0..<70 { #expect(budget.consume(.batch, at: .zero) == .granted) }
        #expect(budget.consume(.batch, at: .zero) == .wait(.seconds(36)))
        let left = budget.left(for: .batch, at: .zero)
        #expect(left == 0)
        for _ in 0..<30 { #expect(budget.consume(.live, at: .zero) == .granted) }
        #expect(budget.consume(.live, at: .zero) == .wait(.seconds(36)))
        #expect(budget.consume(.batch, at: .seconds(36)) == .wait(.seconds(36 * 30)))
    }

    @Test("No call is allowed before the end of a pause")
    func pause() {
        var budget = HourlyBudget(callsPerHour: 100, reserve: 0, now: .zero)
        budget.pause(until: .seconds(10))
        budget.pause(until: .seconds(5))
        #expect(budget.consume(.live, at: .seconds(4)) == .wait(.seconds(6)))
        #expect(budget.consume(.live, at: .seconds(10)) == .granted)
        let left = budget.left(for: .live, at: .seconds(10))
        #expect(left == 99)
    }

    @Test("Background calls get a fifth of the budget and nothing of the reserve")
    func shadow() {
        let budget = ServerAPIBudget(share: 0.01, reserve: 0.5)
        #expect(budget.left(.history, .production, .live, at: .zero) == 1_800)
        for _ in 0..<360 { #expect(budget.consume(.history, .production, .background, at: .zero) == .granted) }
        #expect(budget.consume(.history, .production, .background, at: .zero) == .wait(.seconds(10)))
        #expect(budget.left(.history, .production, .live, at: .zero) == 1_440)
        // Only the reserve is left: background calls wait, and their own share is not charged for the rejected ones.
        for _ in 0..<600 { #expect(budget.consume(.statuses, .production, .live, at: .zero) == .granted) }
        for _ in 0..<300 { #expect(budget.consume(.statuses, .production, .background, at: .zero) == .granted) }
        for _ in 0..<100 {
            #expect(budget.consume(.statuses, .production, .background, at: .zero) == .wait(.seconds(2)))
        }
        #expect(budget.consume(.statuses, .production, .background, at: .seconds(2)) == .granted)
    }

    @Test("Each endpoint has a budget of one hour of Apple's limit, in the sandbox a tenth")
    func limits() {
        let clock = ManualClock()
        let budget = ServerAPIBudget(share: 0.5, reserve: 0.2)
        #expect(ServerAPIBudget().left(.history, .production, .live, at: clock.uptime) == 180_000)
        #expect(budget.left(.history, .production, .live, at: clock.uptime) == 90_000)
        #expect(budget.left(.history, .production, .batch, at: clock.uptime) == 72_000)
        #expect(budget.left(.massExtend, .sandbox, .live, at: clock.uptime) == 180)
        #expect(budget.consume(.history, .sandbox, .live, at: clock.uptime) == .granted)
        #expect(budget.left(.history, .sandbox, .live, at: clock.uptime) == 8_999)
        #expect(budget.left(.statuses, .sandbox, .live, at: clock.uptime) == 9_000)
        budget.pause(.statuses, .sandbox, for: .seconds(3), at: clock.uptime)
        #expect(budget.consume(.statuses, .sandbox, .batch, at: clock.uptime) == .wait(.seconds(3)))
        #expect(budget.consume(.statuses, .production, .batch, at: clock.uptime) == .granted)
        clock.advance(.seconds(3))
        #expect(budget.consume(.statuses, .sandbox, .batch, at: clock.uptime) == .granted)
    }
}
