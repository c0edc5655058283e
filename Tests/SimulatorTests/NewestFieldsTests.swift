import ReceiptBridgeBase
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Customers with Apple's newest fields")
struct NewestFieldsTests {
    private static let options = WorldOptions(newestFields: true)
    private static let made = Result { try SharedSimulator.store(customers: 6, options: options) }

    /// Returns a store of its own for a test that changes it.
    private func fresh() throws -> SimulatedStore { try SharedSimulator.store(customers: 6, options: Self.options) }

    private func rows(_ kind: CustomerKind, _ store: SimulatedStore) throws -> [JSONValue] {
        try store.history(of: try #require(try store.customer(kind).transactions.first).transactionId).rows
    }

    private func state(_ kind: CustomerKind, _ store: SimulatedStore) throws -> (renewal: JSONValue, status: Int64?) {
        let original = try #require(try store.customer(kind).transactions.first).originalTransactionId
        let state = try store.subscriptionState(of: original)
        return (state.renewal, state.status?.integer)
    }

    @Test("They come after all other customers, who stay the same")
    func world() throws {
        let customers = try Self.made.get().world.customers
        #expect(Array(customers.prefix(6)) == World(seed: 7, customers: 6, epoch: SharedSimulator.noon).customers)
        #expect(customers.count == 6 + 2 * CustomerKind.newestKinds.count)
        for kind in CustomerKind.newestKinds {
            #expect(Set(customers.filter { $0.kind == kind }.map(\.environment)) == [.production, .sandbox])
        }
        for customer in customers.prefix(6) {
            for transaction in customer.transactions {
                let row = transaction.row(customer.environment, signedDate: SharedSimulator.noon)
                let names = Set(keys(row))
                #expect(
                    names.isDisjoint(with: ["advancedCommerceInfo", "commitmentInfo", "previousOriginalTransactionId"]))
                #expect(row["billingPlanType"]?.text == (transaction.isAutoRenewable ? "BILLED_UPFRONT" : nil))
            }
        }
    }

    @Test("Each month of a commitment has its number, and the end and the price of the commitment")
    func commitment() throws {
        let rows = try rows(.commitment, Self.made.get())
        #expect(rows.map { $0["commitmentInfo"]?["billingPeriodNumber"]?.integer } == [1, 2, 3, 4, 5])
        #expect(Set(rows.map { $0["commitmentInfo"]?["commitmentExpiresDate"]?.integer }).count == 1)
        for row in rows {
            expect(
                row, has: ["billingPlanType": "MONTHLY", "productId": "com.example.app.yearly", "price": 3990])
            expect(row["commitmentInfo"], has: ["commitmentPrice": 47_880, "totalBillingPeriods": 12])
            let (start, end) = (row["purchaseDate"]?.integer, row["expiresDate"]?.integer)
            #expect(try #require(end) - #require(start) == 30 * 86_400_000)
        }
        let (renewal, status) = try state(.commitment, Self.made.get())
        #expect(status == 1)
        expect(renewal, has: ["renewalBillingPlanType": "MONTHLY", "renewalPrice": 3990])
        expect(
            renewal["commitmentInfo"],
            has: [
                "commitmentAutoRenewStatus": 1, "commitmentRenewalPrice": 47_880,
                "commitmentRenewalBillingPlanType": "MONTHLY",
                "commitmentRenewalDate": rows[0]["commitmentInfo"]?["commitmentExpiresDate"],
            ])
    }

    @Test("After twelve months a new commitment begins, and a canceled one still renews its months")
    func cancelled() throws {
        let rows = try rows(.commitmentCancelled, Self.made.get())
        let numbers = rows.compactMap { $0["commitmentInfo"]?["billingPeriodNumber"]?.integer }
        #expect(numbers == Array(1...12) + [1, 2])
        #expect(Set(rows.map { $0["commitmentInfo"]?["commitmentExpiresDate"]?.integer }).count == 2)
        let (renewal, _) = try state(.commitmentCancelled, Self.made.get())
        #expect(renewal["autoRenewStatus"] == .number(1))
        #expect(renewal["commitmentInfo"]?["commitmentAutoRenewStatus"] == .number(0))
    }

    @Test("A cancellation turns off the commitment, not its months, and the subscription expires after the last one")
    func cancellation() throws {
        let store = try fresh()
        let customer = try store.customer(.commitment)
        func make(_ event: WorldEvent) throws -> [String] {
            try store.simulate(EventRequest(event, customerId: customer.id)).notificationTypes
        }
        #expect(try make(.autoRenewOff) == ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"])
        #expect(try state(.commitment, store).renewal["autoRenewStatus"] == .number(1))
        #expect(throws: EventFailure.impossible) { try make(.expireVoluntary) }
        #expect(throws: EventFailure.impossible) { try make(.autoRenewOff) }
        for _ in 6...12 { #expect(try make(.renew) == ["DID_RENEW"]) }
        #expect(try rows(.commitment, store).last?["commitmentInfo"]?["billingPeriodNumber"] == .number(12))
        #expect(try state(.commitment, store).renewal["autoRenewStatus"] == .number(0))
        #expect(throws: EventFailure.impossible) { try make(.renew) }
        #expect(try make(.expireVoluntary) == ["EXPIRED/VOLUNTARY"])
        #expect(try state(.commitment, store).status == 2)
    }

    @Test("A commitment that renews begins again with the first month")
    func renewed() throws {
        let store = try fresh()
        let customer = try store.customer(.commitment)
        for _ in 6...13 { try store.simulate(EventRequest(.renew, customerId: customer.id)) }
        #expect(try rows(.commitment, store).last?["commitmentInfo"]?["billingPeriodNumber"] == .number(1))
        #expect(try state(.commitment, store).renewal["commitmentInfo"]?["commitmentAutoRenewStatus"] == .number(1))
    }

    @Test("A billing error moves the end of the commitment, and there is no grace period")
    func recovery() throws {
        let store = try fresh()
        let customer = try store.customer(.commitment)
        #expect(throws: EventFailure.impossible) {
            try store.simulate(EventRequest(.billingFailureWithGrace, customerId: customer.id))
        }
        let before = try rows(.commitment, store).last?["commitmentInfo"]
        for event in [WorldEvent.billingFailure, .billingRecovery] {
            try store.simulate(EventRequest(event, customerId: customer.id))
        }
        let after = try rows(.commitment, store).last?["commitmentInfo"]
        #expect(after?["billingPeriodNumber"] == .number(6))
        #expect(after?["commitmentExpiresDate"] != before?["commitmentExpiresDate"])
        let (renewal, _) = try state(.commitment, store)
        #expect(renewal["commitmentInfo"]?["commitmentRenewalDate"] == after?["commitmentExpiresDate"])
    }

    @Test("A year paid at once can renew month by month")
    func upfront() throws {
        let store = try fresh()
        #expect(try rows(.billedUpfront, store).map { $0["billingPlanType"] } == [.string("BILLED_UPFRONT")])
        #expect(try rows(.billedUpfront, store)[0]["commitmentInfo"] == nil)
        let (renewal, _) = try state(.billedUpfront, store)
        #expect(renewal["renewalBillingPlanType"] == .string("MONTHLY"))
        #expect(renewal["commitmentInfo"] == nil)
        let customer = try store.customer(.billedUpfront)
        try store.simulate(EventRequest(.renew, customerId: customer.id))
        let new = try #require(try rows(.billedUpfront, store).last)
        #expect(new["billingPlanType"] == .string("MONTHLY"))
        #expect(new["commitmentInfo"]?["billingPeriodNumber"] == .number(1))
    }

    @Test("Purchases with the Advanced Commerce API name the developer's SKU, before and after a renewal")
    func advancedCommerce() throws {
        let store = try fresh()
        let customer = try store.customer(.advancedCommerce)
        try store.simulate(EventRequest(.renew, customerId: customer.id))
        let rows = try rows(.advancedCommerce, store)
        #expect(rows.count == 4)
        for row in rows {
            let info = try #require(row["advancedCommerceInfo"])
            #expect(
                keys(info) == [
                    "descriptors", "estimatedTax", "items", "period", "requestReferenceId", "taxCode",
                    "taxExclusivePrice", "taxRate",
                ])
            #expect(keys(info["items"]?.elements?.first) == ["SKU", "description", "displayName", "price"])
            let net = try #require(info["taxExclusivePrice"]?.integer)
            #expect(try net + #require(info["estimatedTax"]?.integer) == row["price"]?.integer)
        }
        let info = try state(.advancedCommerce, store).renewal["advancedCommerceInfo"]
        #expect(keys(info) == ["consistencyToken", "descriptors", "items", "period", "requestReferenceId", "taxCode"])
    }

    @Test("A migrated subscription names its previous original transaction id; the old subscription has expired")
    func migrated() throws {
        let rows = try rows(.migrated, Self.made.get())
        let new = try #require(rows.last)
        #expect(new["previousOriginalTransactionId"] == rows.first?["originalTransactionId"])
        #expect(new["originalTransactionId"] == new["transactionId"])
        #expect(new["purchaseDate"] == rows[rows.count - 2]["expiresDate"])
        #expect(rows.dropLast().allSatisfy { $0["previousOriginalTransactionId"] == nil })
        let customer = try Self.made.get().customer(.migrated)
        #expect(customer.renewals.map(\.status) == [.expired, .active])
        #expect(customer.activeProductIds == ["com.example.app.generic.monthly"])
    }

    @Test("The event MIGRATION gives an ordinary subscription a new original transaction id")
    func migration() throws {
        let store = try SharedSimulator.store(customers: 4)
        let customer = try store.customer(.activeSubscription)
        let previous = try #require(customer.transactions.last)
        let outcome = try store.simulate(EventRequest(.migration, customerId: customer.id))
        #expect(outcome.notificationTypes == ["MIGRATION"])
        let transaction = try #require(outcome.notifications.first?.transaction)
        #expect(transaction.previousOriginalTransactionId == previous.originalTransactionId)
        #expect(transaction.originalTransactionId == transaction.transactionId)
        #expect(transaction.expiresDate == previous.expiresDate)
        #expect(outcome.notifications.first?.renewal?.status == .active)
        #expect(try store.subscriptionState(of: previous.originalTransactionId).status?.integer == 2)
        #expect(try store.subscriptionState(of: transaction.transactionId).status?.integer == 1)
        let renewed = try store.simulate(EventRequest(.renew, originalTransactionId: transaction.transactionId))
        let next = try #require(renewed.notifications.first?.transaction)
        #expect(next.previousOriginalTransactionId == previous.originalTransactionId)
        #expect(next.advancedCommerce == transaction.advancedCommerce)
        #expect(throws: EventFailure.impossible) {
            try store.simulate(EventRequest(.migration, originalTransactionId: transaction.transactionId))
        }
    }

    @Test("verifyReceipt answers with the same months, without the newest fields")
    func receipts() throws {
        let store = try Self.made.get()
        for customer in store.world.customers.suffix(2 * CustomerKind.newestKinds.count) {
            for receipt in store.receipts(of: customer) {
                let answer = try store.verdict(on: receipt.base64)
                #expect(answer["status"] == .number(0))
                let rows = try #require(answer["latest_receipt_info"]?.elements)
                #expect(
                    rows.count == customer.transactions.filter(\.isAutoRenewable).count
                        + (customer.kind == .withoutAppTransaction ? 1 : 0))
                #expect(answer["pending_renewal_info"]?.elements?.count == customer.renewals.count)
            }
        }
    }
}
