import ReceiptBridgeBase
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Many random events")
struct EventGeneratorTests {
    private func names(_ outcomes: [EventOutcome]) -> [String] {
        outcomes.flatMap { outcome in
            zip(outcome.notificationTypes, outcome.notifications).map {
                "\(outcome.after?.id ?? "") \($0) \($1.uuid) \($1.transaction?.transactionId ?? "") \($1.date.milliseconds)"
            }
        }
    }

    @Test("Events follow from the seed and from the events before")
    func determinism() throws {
        let (one, two) = (try SharedSimulator.store(customers: 84), try SharedSimulator.store(customers: 84))
        let first = names(one.simulate(300, seed: 4))
        #expect(first == names(two.simulate(300, seed: 4)))
        #expect(Set(first).count == first.count)
        let second = names(one.simulate(300, seed: 4))
        #expect(second != first)
        #expect(second == names(two.simulate(300, seed: 4)))
        #expect(names(try SharedSimulator.store(customers: 84).simulate(300, seed: 5)) != first)
        #expect(names(one.simulate(20)) == names(two.simulate(20)))
    }

    @Test("Random events cause every type of notification about purchases, and none that is on request only")
    func coverage() throws {
        let all: Set<String> = [
            "SUBSCRIBED/INITIAL_BUY", "SUBSCRIBED/RESUBSCRIBE", "OFFER_REDEEMED", "OFFER_REDEEMED/UPGRADE",
            "OFFER_REDEEMED/DOWNGRADE", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_PREF/UPGRADE",
            "DID_CHANGE_RENEWAL_PREF/DOWNGRADE", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED",
            "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "DID_RENEW", "DID_RENEW/BILLING_RECOVERY",
            "DID_FAIL_TO_RENEW", "DID_FAIL_TO_RENEW/GRACE_PERIOD", "GRACE_PERIOD_EXPIRED", "EXPIRED",
            "EXPIRED/VOLUNTARY", "EXPIRED/BILLING_RETRY", "EXPIRED/PRICE_INCREASE",
            "EXPIRED/PRODUCT_NOT_FOR_SALE", "PRICE_INCREASE/PENDING", "PRICE_INCREASE/ACCEPTED", "REFUND",
            "REFUND_DECLINED", "REFUND_REVERSED", "CONSUMPTION_REQUEST", "REVOKE", "RENEWAL_EXTENDED",
            "ONE_TIME_CHARGE",
        ]
        let store = try SharedSimulator.store(customers: 84)
        var types: Set<String> = []
        // At most 6,000 events; debug ends as soon as each type has occurred.
        for seed in UInt64(1)...20 where types.count < TestSize.pick(debug: all.count, release: .max) {
            let outcomes = store.simulate(300, seed: seed)
            types.formUnion(outcomes.flatMap(\.notificationTypes))
            #expect(!outcomes.contains { $0.event == .accountRemoved })
        }
        #expect(types == all)
    }

    @Test("Every customer is in a consistent state after many events")
    func consistency() throws {
        let store = try SharedSimulator.store(customers: TestSize.pick(debug: 84, release: 168))
        let outcomes = store.simulate(TestSize.pick(debug: 600, release: 4_000), seed: 2)
        let customers = Dictionary(outcomes.compactMap(\.after).map { ($0.id, $0) }) { $1 }
        #expect(customers.count > 60)
        var seen: Set<String> = []
        for customer in customers.values {
            // Periods have whole seconds and follow each other, even if the events happen within milliseconds.
            try customer.expectConsistency(at: SharedSimulator.noon.advanced(by: .minutes(2)))
            for transaction in customer.transactions {
                #expect(seen.insert(transaction.transactionId).inserted)
                let path = "v1/transactions/\(transaction.transactionId)"
                #expect(try store.ask(path, in: customer.environment).status == 200)
            }
        }
    }

    @Test(
        "Each state of a record is dated later than before, including states that the Server API has signed",
        arguments: [true, false])
    func clocks(isFixed: Bool) throws {
        let store =
            isFixed
            ? try SharedSimulator.store(customers: 40)
            : try SharedSimulator.store(customers: 40, clock: .real)
        let customer = try store.customer(.activeSubscription)
        let original = try #require(customer.transactions.last).originalTransactionId
        var newest = Int64.min
        for event in [WorldEvent.autoRenewOff, .autoRenewOn, .autoRenewOff, .autoRenewOn, .renew, .refund] {
            let before = try #require(try store.subscriptionState(of: original).renewal["signedDate"]?.integer)
            #expect(before >= newest)
            for notification in try store.simulate(EventRequest(event, originalTransactionId: original)).notifications {
                #expect(notification.date.milliseconds > max(newest, before))
                newest = notification.date.milliseconds
            }
            let after = try store.subscriptionState(of: original)
            #expect(try #require(after.renewal["signedDate"]?.integer) >= newest)
            #expect(try #require(after.transaction["signedDate"]?.integer) >= newest)
        }
    }

    @Test("The state with the latest date, from any notification, is the one that the Server API reports")
    func replay() throws {
        let store = try SharedSimulator.store(customers: 84)
        let notifications = store.simulate(TestSize.pick(debug: 400, release: 2_000), seed: 11).flatMap(\.notifications)
        var renewals: [String: SimulatedNotification] = [:]
        for notification in notifications.shuffled() {
            guard let original = notification.renewal?.originalTransactionId else { continue }
            if let existing = renewals[original], existing.date >= notification.date { continue }
            renewals[original] = notification
        }
        #expect(renewals.count > 40 && renewals.count < notifications.count / 3)
        for (original, newest) in renewals {
            let state = try store.subscriptionState(of: original, in: newest.environment)
            #expect(state.status?.integer == newest.renewal?.status.rawValue)
            #expect(
                state.renewal.withoutSignedDate
                    == newest.renewal?.row(newest.environment, signedDate: newest.date).withoutSignedDate)
        }
        let tokens = try store.sentNotifications().count + store.sentNotifications(in: .sandbox).count
        #expect(tokens == notifications.count)
    }

    @Test("Changed and new rows come after the revision that a caller has stored")
    func revisions() throws {
        let store = try SharedSimulator.store(customers: 40)
        let customer = try store.customer(.activeSubscription)
        let id = try #require(customer.transactions.first).transactionId
        var revision = try #require(try store.ask("v2/history/\(id)").body?["revision"]?.text)
        for event in [WorldEvent.renew, .billingFailure, .billingRecovery, .refund, .refundReversed, .buyConsumable] {
            let outcome = try store.simulate(EventRequest(event, customerId: customer.id))
            let answer = try #require(try store.ask("v2/history/\(id)?revision=\(revision)").body)
            let rows = try #require(answer["signedTransactions"]?.elements).map(decoded)
            #expect(rows.contains { $0["transactionId"]?.text == outcome.notifications[0].transaction?.transactionId })
            revision = try #require(answer["revision"]?.text)
        }
    }
}
