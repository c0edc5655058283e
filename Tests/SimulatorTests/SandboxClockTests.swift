import Foundation
import ReceiptBridgeBase
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Accelerated sandbox")
struct SandboxClockTests {
    private static let minute: Int64 = 60_000

    private func store(customers: Int = 84, newestFields: Bool = false) throws -> SimulatedStore {
        try SharedSimulator.store(
            customers: customers, options: .init(newestFields: newestFields, sandboxClock: .apple))
    }

    private func noon(minutes: Int64) -> Timestamp {
        SharedSimulator.noon.advanced(by: .milliseconds(minutes * Self.minute))
    }

    @Test(
        "Periods have the lengths that Apple documents",
        arguments: [(7, 3), (30, 5), (60, 10), (90, 15), (180, 30), (365, 60)] as [(Int64, Int64)])
    func periods(days: Int64, minutes: Int64) {
        #expect(SandboxClock.apple.period(days: days) == minutes * Self.minute)
        #expect(SandboxClock.real.period(days: days) == days * 86_400_000)
    }

    @Test("Grace period, billing retry and extensions are accelerated too")
    func others() {
        #expect(SandboxClock.apple.gracePeriod == 150_000)
        #expect(SandboxClock.apple.billingRetry == 10 * Self.minute)
        #expect(SandboxClock.real.billingRetry == 60 * 86_400_000)
        #expect(SandboxClock.apple.extensionLength(days: 5) == 0)
        #expect(SandboxClock.apple.extensionLength(days: 90) == 15 * Self.minute)
        #expect(SandboxClock.real.extensionLength(days: 5) == 5 * 86_400_000)
    }

    @Test("Only subscriptions of the sandbox are accelerated, and their states agree with their dates")
    func world() throws {
        let (fast, real) = (try store(), try SharedSimulator.store(customers: 84))
        #expect(
            fast.world.customers.filter { $0.environment == .production }
                == real.world.customers.filter { $0.environment == .production })
        for (customer, other) in zip(fast.world.customers, real.world.customers) {
            #expect(customer.kind == other.kind)
            #expect(Set(customer.transactions.map(\.transactionId)) == Set(other.transactions.map(\.transactionId)))
            #expect(customer.activeProductIds == other.activeProductIds)
            guard customer.environment == .sandbox else { continue }
            try customer.expectConsistency()
            for transaction in customer.transactions {
                guard let expires = transaction.expiresDate else { continue }
                let length = expires.milliseconds - transaction.purchaseDate.milliseconds
                let full = SandboxClock.apple.period(days: transaction.product.days)
                #expect(length == full || transaction.isTrialPeriod && length == 3 * Self.minute, "\(customer.kind)")
            }
        }
    }

    @Test("A subscription renews by itself up to 12 times after its purchase, and then expires")
    func renewals() throws {
        let store = try store(customers: 2)
        let customer = try store.customer(.activeSubscription, .sandbox)
        #expect(store.advanceSandbox(to: SharedSimulator.noon).isEmpty)
        let outcomes = store.advanceSandbox(to: noon(minutes: 120))
        let existing = customer.transactions.filter(\.isAutoRenewable)
        let renewals = 13 - existing.count
        #expect(
            outcomes.flatMap(\.notificationTypes)
                == Array(repeating: "DID_RENEW", count: renewals) + ["EXPIRED/VOLUNTARY"])
        let after = try #require(outcomes.last?.after)
        let periods = after.transactions.filter(\.isAutoRenewable)
        for (previous, next) in zip(periods, periods.dropFirst()) {
            #expect(previous.expiresDate == next.purchaseDate)
        }
        #expect(after.renewals.first?.status == .expired)
        #expect(store.advanceSandbox(to: noon(minutes: 1000)).isEmpty)
    }

    @Test("Each period is renewed at its end, not before")
    func dueDate() throws {
        let store = try store(customers: 2)
        let customer = try store.customer(.activeSubscription, .sandbox)
        let expires = try #require(customer.transactions.last?.expiresDate)
        #expect(store.advanceSandbox(to: expires.advanced(by: .milliseconds(-1))).isEmpty)
        let outcome = try #require(store.advanceSandbox(to: expires).first)
        let new = try #require(outcome.notifications.first?.transaction)
        #expect(new.purchaseDate == expires)
        #expect(new.expiresDate == expires.advanced(by: .milliseconds(5 * Self.minute)))
        #expect(outcome.event == nil)
    }

    @Test("Canceled subscriptions, billing errors and missing consent end as in production, only sooner")
    func endings() throws {
        let store = try store()
        let outcomes = store.advanceSandbox(to: noon(minutes: 180))
        func types(_ kind: CustomerKind) -> [String] {
            outcomes.filter { $0.after?.kind == kind }.flatMap(\.notificationTypes)
        }
        #expect(types(.refundedNonConsumable) == ["EXPIRED/VOLUNTARY"])
        #expect(types(.billingRetry) == ["EXPIRED/BILLING_RETRY"])
        #expect(types(.gracePeriod) == ["GRACE_PERIOD_EXPIRED", "EXPIRED/BILLING_RETRY"])
        #expect(types(.priceIncreaseAsked) == ["EXPIRED/PRICE_INCREASE"])
        #expect(types(.expiredSubscription).isEmpty && types(.revokedSubscription).isEmpty)
        #expect(types(.downgradePending).first == "DID_RENEW")
        #expect(outcomes.allSatisfy { $0.after?.environment == .sandbox })
    }

    @Test("Nothing happens by itself in the sandbox without acceleration")
    func real() throws {
        let store = try SharedSimulator.store(customers: 84)
        #expect(store.advanceSandbox(to: noon(minutes: 1_000_000)).isEmpty)
    }

    @Test("A commitment of twelve months takes an hour")
    func commitment() throws {
        let store = try store(customers: 1, newestFields: true)
        let customer = try store.customer(.commitment, .sandbox)
        let commitment = try #require(customer.transactions.first?.commitment)
        let start = try #require(customer.transactions.first?.purchaseDate)
        #expect(commitment.expiresDate.milliseconds - start.milliseconds == 60 * Self.minute)
        let rows = store.advanceSandbox(to: noon(minutes: 120)).filter { $0.after?.id == customer.id }
            .compactMap { $0.notifications.first?.transaction?.commitment?.number }
        #expect(rows == Array(6...12) + [1, 1])
    }

    @Test("A running store renews the subscriptions whose date has passed")
    func running() async throws {
        let epoch = Timestamp(seconds: Timestamp.now.seconds)
        let scratch = try TemporaryFolder()
        let directory = try StateDirectory(scratch.url.path)
        let past = epoch.advanced(by: .milliseconds(-10 * Self.minute))
        let options = WorldOptions(sandboxClock: .apple)
        let old = try directory.open(
            seed: 7, customers: 2, clock: .fixed(past), newKeys: SharedSimulator.pki, options: options)
        try directory.write(old)
        let store = try directory.open(seed: 7, customers: 2, clock: .real, options: options)
        #expect(store.world.epoch == past)
        _ = try await store.start()
        #expect(await eventually { store.notifications.count >= 2 })
        await store.stop()
        let types = store.notifications.all.map(\.notification.type)
        #expect(types.allSatisfy { $0 == "DID_RENEW" || $0 == "EXPIRED" })
    }
}
