package import ReceiptBridgeBase
import ReceiptBridgeCryptography
package import ReceiptBridgeSimulator

/// A simulated App Store that suites share, because making its keys takes half a second.
package enum SharedSimulator {
    /// 2026-11-21T12:00:00Z, the fixed time of the simulated clock.
    package static let noon = Timestamp(seconds: 1_795_262_400)

    private static let made = Result { try TestPKI() }
    private static let foreignMade = Result {
        var options = TestPKI.Options()
        options.imitatesApple = true
        return try TestPKI(options)
    }

    package static var pki: TestPKI { get throws { try made.get() } }

    /// A tree with Apple's names below another root.
    package static var foreign: TestPKI { get throws { try foreignMade.get() } }

    /// A new store. By default it has 36 customers: all common kinds, all but two of them in both environments.
    package static func store(
        customers: Int = 36, clock: SimulatedClock = .fixed(noon), options: WorldOptions = .init()
    ) throws -> SimulatedStore {
        try SimulatedStore(seed: 7, customers: customers, clock: clock, pki: try pki, options: options)
    }

    private static let shared = Result { try store() }

    /// The shared store, for tests that only read.
    package static var world: SimulatedStore { get throws { try shared.get() } }

    private static let sharedHostile = Result { try world.hostileReceipts() }

    /// All damaged and forged receipts of the shared world.
    package static var hostile: [HostileReceipt] { get throws { try sharedHostile.get() } }

    package static func receipt(
        _ kind: CustomerKind, _ environment: AppStoreEnvironment = .production, version: UInt8? = nil
    ) throws -> IssuedReceipt { try world.receipt(kind, environment, version: version) }

    package struct Missing: Error {
        package let what: String

        package init(what: String) { self.what = what }
    }
}

extension SimulatedStore {
    /// The customers that a test asks about one by one: all in release, and one of each kind in debug, from both
    /// environments in turn. A world of 84 customers has every kind in both.
    package var sample: [SimulatedCustomer] { TestSize.pick(debug: oneOfEachKind, release: world.customers) }

    /// The receipts of ``sample``.
    package var sampleReceipts: [IssuedReceipt] { sample.flatMap { receipts(of: $0) } }

    private var oneOfEachKind: [SimulatedCustomer] {
        let customers = Dictionary(grouping: world.customers, by: \.kind)
        return CustomerKind.allCases.enumerated().compactMap { index, kind in
            let environment: AppStoreEnvironment = index.isMultiple(of: 2) ? .production : .sandbox
            return customers[kind]?.first { $0.environment == environment } ?? customers[kind]?.first
        }
    }
}
