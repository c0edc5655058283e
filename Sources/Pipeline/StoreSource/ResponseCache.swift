import AppStore
import Cryptography
import Ledger
import Rendering
import StoreTypes

/// Answers from the store that can be given again to the very same request: an app that posts its receipt three times at
/// its start is decoded and answered once.
///
/// An answer is good while the store's word on the customer is the one that it was made of, and as good as asking. All
/// else that it follows from is in the request, or in a configuration that does not change while the process lives.
final class ResponseCache: Sendable {
    /// Of all answers together, in bytes.
    private static let capacity = 64 << 20

    /// An answer, and what it was made of.
    struct Entry: Sendable {
        let app: AppConfiguration
        let scope: AppScope
        let keys: CustomerIdentifiers
        /// See ``StoredCustomerSnapshot/serial``.
        let serial: UInt64
        let answer: ResponseTemplate
        /// See ``VerifyReceiptResult/consumables``.
        let consumables: Set<String>
    }

    private let memory = GenerationalCache<[UInt8], Entry>(limit: capacity)

    /// SHA-256 of a request and the endpoint that it came to.
    static func key(_ body: [UInt8], _ route: UpstreamRouter.Route) -> [UInt8] {
        let endpoint: UInt8 =
            switch route {
            case .auto: 0
            case .only(.production): 1
            case .only(.sandbox): 2
            case .only(.xcode): 3
            }
        return SHA.digest(body, with: .sha256) + [endpoint]
    }

    subscript(key: [UInt8]) -> Entry? { memory[key] }

    func removeAll() { memory.removeAll() }

    func insert(_ entry: Entry, for key: [UInt8]) {
        memory.insert(entry, for: key, cost: entry.answer.size + 1_024 + entry.consumables.count * 64)
    }
}
