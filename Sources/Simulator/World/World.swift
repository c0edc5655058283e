package import AppStoreTypes

/// Options of a world that are off by default.
package struct WorldOptions: Sendable, Hashable {
    /// Includes customers who ordered the app before its release.
    package var preOrders = false
    /// verifyReceipt also reports upgrades as cancellations.
    package var upgradesAreCancelled = false

    package init(preOrders: Bool = false, upgradesAreCancelled: Bool = false) {
        self.preOrders = preOrders
        self.upgradesAreCancelled = upgradesAreCancelled
    }

    /// The options as `keys/world.json` stores them.
    var document: JSONValue {
        .object(["preOrders": .bool(preOrders), "upgradesAreCancelled": .bool(upgradesAreCancelled)])
    }
}

/// All customers of the simulated app. The same seed, number of customers and clock give the same world.
package struct World: Sendable {
    package let seed: UInt64
    /// The instant around which all dates lie, in whole seconds.
    package let epoch: Timestamp
    package let options: WorldOptions
    package let customers: [SimulatedCustomer]

    package init(seed: UInt64, customers count: Int, epoch: Timestamp, options: WorldOptions = .init()) {
        self.seed = seed
        self.options = options
        self.epoch = Timestamp(seconds: epoch.seconds)
        var random = SplitMix64(seed: seed)
        let order = CustomerKind.order(options)
        customers = (0..<max(count, 0)).map { index in
            let (kind, environment) = order[index % order.count]
            var builder = CustomerBuilder(
                index: Int64(index), kind: kind, environment: environment, epoch: Timestamp(seconds: epoch.seconds),
                seed: random.next(), options: options)
            return builder.build()
        }
    }

    /// The content of `world.json`.
    package var document: JSONValue {
        .object([
            "seed": .number(Int64(bitPattern: seed)),
            "clock": .string(epoch.rfc3339),
            "customers": .array(customers.map { $0.document(signedDate: epoch) }),
        ])
    }
}

extension SimulatedCustomer {
    fileprivate func document(signedDate: Timestamp) -> JSONValue {
        .object([
            "id": .string(id),
            "environment": .string(environment.rawValue),
            "receipts": .array(receipts.map { .string($0.id) }),
            "transactions": .array(transactions.map { $0.row(environment, signedDate: signedDate) }),
            "renewals": .array(renewals.map { $0.row(environment, signedDate: signedDate) }),
            "expected": .object([
                "status": .number(expectedStatus),
                "activeProductIds": .array(activeProductIds.map(JSONValue.string)),
            ]),
        ])
    }
}

/// The clock of a simulated App Store: the machine's time, or an instant that does not advance.
package enum SimulatedClock: Sendable, Hashable {
    case real
    case fixed(Timestamp)

    /// The current time.
    package var now: Timestamp {
        switch self {
        case .real: .now
        case .fixed(let instant): instant
        }
    }
}
