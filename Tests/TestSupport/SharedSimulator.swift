import Cryptography
package import Simulator
package import StoreTypes

/// The simulated App Store that suites share: making its keys is what takes time.
package enum SharedSimulator {
    /// 2026-11-21T12:00:00Z, when time stands still.
    package static let noon = Timestamp(seconds: 1_795_262_400)

    private static let made = Result { try TestPKI() }
    private static let foreignMade = Result { try TestPKI.foreign() }

    package static var pki: TestPKI { get throws { try made.get() } }

    /// Another root's tree, with Apple's names.
    package static var foreign: TestPKI { get throws { try foreignMade.get() } }

    /// A world of 36 customers: every story in both environments.
    package static func store(customers: Int = 36) throws -> SimulatedStore {
        try SimulatedStore(seed: 7, customers: customers, clock: .fixed(noon), pki: try pki)
    }

    private static let shared = Result { try store() }

    /// For tests that only read.
    package static var world: SimulatedStore { get throws { try shared.get() } }

    private static let sharedHostile = Result { try world.hostileReceipts() }

    /// Every mangled and forged receipt of that world.
    package static var hostile: [HostileReceipt] { get throws { try sharedHostile.get() } }

    /// The first receipt of a customer of that kind.
    package static func receipt(
        _ kind: CustomerKind, _ environment: AppStoreEnvironment = .production, version: UInt8? = nil
    ) throws -> IssuedReceipt {
        guard
            let receipt = try world.receipts.first(where: {
                $0.customer.kind == kind && $0.environment == environment && $0.plan.version == version
            })
        else { throw Missing(what: "a receipt of \(kind) in \(environment), version \(version ?? 0)") }
        return receipt
    }

    package struct Missing: Error {
        package let what: String

        package init(what: String) {
            self.what = what
        }
    }
}
