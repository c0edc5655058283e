package import ReceiptBridgeBase

/// Options of a world that are off by default.
package struct WorldOptions: Sendable, Hashable {
    /// Includes customers who ordered the app before its release.
    package var preOrders = false
    package var upgradesAreCancelled = false
    /// Adds customers whose records have Apple's newest fields, after all others.
    package var newestFields = false
    package var sandboxClock = SandboxClock.real

    package init(
        preOrders: Bool = false, upgradesAreCancelled: Bool = false, newestFields: Bool = false,
        sandboxClock: SandboxClock = .real
    ) {
        (self.preOrders, self.upgradesAreCancelled) = (preOrders, upgradesAreCancelled)
        (self.newestFields, self.sandboxClock) = (newestFields, sandboxClock)
    }

    /// The largest number of customers, because each has a range of ids.
    package var maximumCustomers: Int { 900_000 - (newestFields ? CustomerKind.newest.count : 0) }

    /// The speed of subscriptions in an environment. Production is never accelerated.
    func clock(in environment: AppStoreEnvironment) -> SandboxClock {
        environment == .sandbox ? sandboxClock : .real
    }

    /// The options as `keys/world.json` stores them. Newer options are absent if they are off, so that directories
    /// from before them stay valid.
    var document: JSONValue {
        JSONValue([
            "preOrders": preOrders, "upgradesAreCancelled": upgradesAreCancelled,
            "newestFields": newestFields ? true : nil,
            "sandboxClock": sandboxClock == .real ? nil : sandboxClock.rawValue,
        ])
    }
}

/// All customers of the simulated app. The same seed, number of customers and clock give the same world.
package struct World: Sendable {
    package let seed: UInt64
    /// The instant around which all dates lie, in whole seconds.
    package let epoch: Timestamp
    package let options: WorldOptions
    /// The requested number of customers, without those that an option adds.
    let requestedCount: Int
    package let customers: [SimulatedCustomer]

    package init(seed: UInt64, customers count: Int, epoch: Timestamp, options: WorldOptions = .init()) {
        self.seed = seed
        self.options = options
        self.epoch = Timestamp(seconds: epoch.seconds)
        var random = SplitMix64(seed: seed)
        let order = CustomerKind.order(options)
        let added = options.newestFields ? CustomerKind.newest : []
        requestedCount = max(count, 0)
        customers = (0..<requestedCount + added.count).map { [requestedCount] index in
            let (kind, environment) =
                index < requestedCount ? order[index % order.count] : added[index - requestedCount]
            var builder = CustomerBuilder(
                index: Int64(index), kind: kind, environment: environment, epoch: Timestamp(seconds: epoch.seconds),
                seed: random.next(), options: options)
            return builder.build()
        }
    }

    /// The content of `world.json`.
    package var document: JSONValue {
        JSONValue(["seed": Int64(bitPattern: seed), "clock": epoch.rfc3339, "customers": customers.map(row)])
    }

    private func row(of customer: SimulatedCustomer) -> JSONValue {
        JSONValue([
            "id": customer.id, "environment": customer.environment.rawValue,
            "receipts": customer.receipts.map(\.id),
            "transactions": customer.transactions.map { $0.row(customer.environment, signedDate: epoch) },
            "renewals": customer.renewals.map { $0.row(customer.environment, signedDate: epoch) },
            "expected": JSONValue([
                "status": customer.expectedStatus, "activeProductIds": customer.activeProductIds,
            ]),
        ])
    }
}

/// The clock of a simulated App Store: the machine's time, or an instant that does not advance.
package enum SimulatedClock: Sendable, Hashable {
    case real
    case fixed(Timestamp)

    package var now: Timestamp {
        switch self {
        case .real: .now
        case .fixed(let instant): instant
        }
    }
}
