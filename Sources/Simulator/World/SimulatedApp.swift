import ReceiptBridgeBase

package struct SimulatedApp: Sendable, Hashable {
    package let bundleId: String
    package let appAppleId: Int64
    package let sharedSecret: String
    package let products: [SimulatedProduct]

    /// The only app of every world. Its identifiers are fixed, because checks outside this project use them.
    package static let first = SimulatedApp(
        bundleId: "com.example.app", appAppleId: 1_234_567_890,
        sharedSecret: "5afb5f7a1f0e4d1c9a2b3c4d5e6f7081",
        products: [.monthly, .yearly, .coins, .unlock, .season, .newsMonthly])

    /// Returns the members that identify the app in responses and notifications. `appAppleId` is absent in the sandbox.
    static func envelope(_ environment: AppStoreEnvironment, bundleId: String = first.bundleId) -> [JSONValue.Member] {
        JSONValue.members([
            "environment": environment.rawValue, "bundleId": bundleId,
            "appAppleId": environment == .production ? first.appAppleId : nil,
        ])
    }
}

package struct SimulatedProduct: Sendable, Hashable {
    /// The kinds of product. Raw values are those of `type` in JWS payloads.
    package enum Kind: String, Sendable, Hashable {
        case autoRenewable = "Auto-Renewable Subscription"
        case nonConsumable = "Non-Consumable"
        case consumable = "Consumable"
        case nonRenewing = "Non-Renewing Subscription"

        /// Value of the receipt attribute 1707 (product type).
        var attributeValue: Int64 {
            switch self {
            case .nonConsumable: 0
            case .consumable: 1
            case .nonRenewing: 2
            case .autoRenewable: 3
            }
        }
    }

    package let productId: String
    package let kind: Kind
    /// The product's Apple ID.
    let itemId: Int64
    /// Price in thousandths of a US dollar: 4990 is $4.99.
    package let price: Int64
    /// Length of a period in days, or 0 if the product has no periods.
    package let days: Int64
    /// Identifier of the subscription group, or `nil` if the product is not auto-renewable.
    package var group: String?
    /// `nil` if the product's transactions name no plan.
    package var billingPlan: BillingPlan?

    package static let monthly = SimulatedProduct(
        productId: "com.example.app.monthly", kind: .autoRenewable, itemId: 1_600_000_001, price: 4990, days: 30,
        group: subscriptionGroup)
    /// A yearly subscription in the same group, which is an upgrade of the monthly one.
    package static let yearly = SimulatedProduct(
        productId: "com.example.app.yearly", kind: .autoRenewable, itemId: 1_600_000_002, price: 39_990, days: 365,
        group: subscriptionGroup)
    package static let coins = SimulatedProduct(
        productId: "com.example.app.coins100", kind: .consumable, itemId: 1_600_000_003, price: 990, days: 0)
    package static let unlock = SimulatedProduct(
        productId: "com.example.app.unlock", kind: .nonConsumable, itemId: 1_600_000_004, price: 9990, days: 0)
    package static let season = SimulatedProduct(
        productId: "com.example.app.season", kind: .nonRenewing, itemId: 1_600_000_005, price: 2990, days: 0)

    /// A subscription in ``newsGroup``, so that a customer can have two subscriptions at once.
    static let newsMonthly = SimulatedProduct(
        productId: "com.example.app.news.monthly", kind: .autoRenewable, itemId: 1_600_000_006, price: 1990, days: 30,
        group: newsGroup)

    /// The yearly subscription, paid at the beginning of each year by a customer who could choose between two plans.
    static let yearlyUpfront = SimulatedProduct(
        productId: yearly.productId, kind: .autoRenewable, itemId: yearly.itemId, price: yearly.price, days: 365,
        group: subscriptionGroup, billingPlan: .billedUpfront)
    /// A month of the yearly subscription with a 12-month commitment.
    static let yearlyByMonth = SimulatedProduct(
        productId: yearly.productId, kind: .autoRenewable, itemId: yearly.itemId, price: 3990, days: 30,
        group: subscriptionGroup, billingPlan: .monthly)
    /// The generic product of the Advanced Commerce API, which stands for the developer's own SKUs.
    package static let generic = SimulatedProduct(
        productId: "com.example.app.generic.monthly", kind: .autoRenewable, itemId: 1_600_000_007, price: 5990,
        days: 30, group: subscriptionGroup)

    static let subscriptionGroup = "20500001"
    /// Group of the news subscription, which has no other product.
    static let newsGroup = "20500002"

    /// Products that only customers with the newest fields buy. Random purchases never choose them.
    private static let further = [yearlyUpfront, yearlyByMonth, generic]

    /// If the product has no such billing plan, the plan is ignored.
    package static func named(_ productId: String, _ plan: BillingPlan? = nil) -> SimulatedProduct? {
        let products = (SimulatedApp.first.products + further).filter { $0.productId == productId }
        return products.first { $0.billingPlan == plan } ?? products.first
    }
}
