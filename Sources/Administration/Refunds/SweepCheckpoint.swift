package import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// The progress of a run over refund histories.
package struct SweepCounts: Sendable, Hashable {
    /// Number of customers in this run.
    package var customers = 0
    /// Customers whose refunds have been looked up.
    package var swept = 0
    /// Refunds that were not known.
    package var unknown = 0
    /// Refunds printed in this run.
    package var reported = 0
    /// Customers that the App Store does not know.
    package var notFound = 0
    /// Customers whose lookup failed for now.
    package var failed = 0
    /// Customers of apps without a key.
    package var withoutKey = 0

    package init() {}
}

package typealias SweepMonitor = RunMonitor<SweepCounts>

/// A checkpoint file `STORE.sweep`: which refund histories were read by runs that have not finished, and an
/// ``EventCursor``. It is locked, so only one process of this machine can sweep at a time.
package struct SweepCheckpoint {
    private struct State: Codable {
        /// All targets up to this position were asked about.
        var position: Int64 = 0
        /// Positions of targets that failed.
        var failed: [Int64] = []
    }

    package let ledger: ProgressFile
    private let name: String
    private var state: State

    /// Opens the file, or creates it: next to the file of the store, or `DATABASE.sweep` in the working directory for
    /// a store that has no file.
    ///
    /// - Parameter name: identifies the customers to ask about.
    /// - Throws: `StorageError` with code `locked` if another process is sweeping.
    package init(of store: StoreAddress, for name: String) throws(StorageError) {
        let path =
            switch store {
            case .sqlite(let path): path
            case .postgresql(let address): address.database.replacing("/", with: "_")
            }
        do throws(StorageError) {
            ledger = try ProgressFile(path: path + ".sweep")
        } catch {
            guard error.code == .locked else { throw error }
            throw StorageError(.locked, at: path, "another sweep is using this store")
        }
        self.name = "refunds of \(name)"
        state = try ledger.state(self.name, as: State.self) ?? State()
    }

    /// The position after which no target was asked about.
    package var position: Int64 { state.position }
    /// The positions before it that are asked about again.
    package var failed: [Int64] { state.failed }

    /// Returns whether a target is to be asked about.
    package func includes(_ position: Int64) -> Bool { position > self.position || failed.contains(position) }

    /// Records the end of a lookup. They end in the order of the targets.
    mutating func end(_ target: RefundTarget, isDone: Bool) throws {
        state.failed.removeAll { $0 == target.position }
        if !isDone { state.failed.append(target.position) }
        state.position = max(state.position, target.position)
        try save()
    }

    /// Marks the run as finished, so that the next one starts over.
    package mutating func finish() throws {
        state = State()
        try save()
    }

    private func save() throws {
        try ledger.save(encoding: state, as: name)
        try ledger.commit()
    }
}
