import ReceiptBridgeBase
import ReceiptBridgeStorage
import Synchronization

/// The customers that one run looks up. The store leaves out those whose lookup was stored; this leaves out the others,
/// and repetitions within a page, so that no customer is looked up twice.
final class ReconciliationLookups: Sendable {
    private struct Subject: Hashable {
        let scope: AppScope
        /// Row id of the customer, or the purchase if it belongs to none.
        let identifier: String

        init(_ target: ReconciliationTarget) {
            scope = target.scope
            identifier = target.customer.map { "customer \($0)" } ?? target.identifier.rawValue
        }
    }

    let begin: Timestamp
    /// The time of one lookup, with pauses and waiting.
    let timeLimit: Duration
    private let asked = Mutex<Set<Subject>>([])

    init(begin: Timestamp, timeLimit: Duration) { (self.begin, self.timeLimit) = (begin, timeLimit) }

    func new(of targets: [ReconciliationTarget]) -> [ReconciliationTarget] {
        asked.withLock { asked in targets.filter { asked.insert(Subject($0)).inserted } }
    }

    /// Forgets a customer whose lookup was stored.
    func stored(_ target: ReconciliationTarget) { asked.withLock { _ = $0.remove(Subject(target)) } }
}
