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
        /// Digest of the list of customers; `nil` for those of the store.
        var list: String?
        /// All targets up to this position were asked about.
        var position: Int64 = 0
    }

    package let ledger: ProgressFile
    private let name: String
    private var state: State
    /// The positions before that one of targets that failed. They are asked about again.
    package private(set) var failed: Set<Int64>
    /// Whether an unfinished run had another list of the same name, so that this one begins again.
    package let beginsAgain: Bool
    /// Whether the failed targets of another list are still in the file. They leave it with its position.
    private var replaces = false

    /// Opens the file, or creates it: next to the file of the store, or `DATABASE.sweep` in the working directory for
    /// a store that has no file.
    ///
    /// - Parameters:
    ///   - name: identifies the customers to ask about.
    ///   - list: the digest of a list of customers. A run over another list does not resume this one.
    /// - Throws: `StorageError` with code `locked` if another process is sweeping.
    package init(of store: StoreAddress, for name: String, list: String? = nil) throws(StorageError) {
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
        let stored = try ledger.state(self.name, as: State.self)
        beginsAgain = stored.map { $0.list != list && $0.position > 0 } ?? false
        if let stored, stored.list == list {
            (state, failed) = (stored, try ledger.numbers(in: self.name))
        } else {
            (state, failed, replaces) = (State(list: list), [], true)
        }
    }

    /// The position after which no target was asked about.
    package var position: Int64 { state.position }

    /// Returns whether a target is to be asked about.
    package func includes(_ position: Int64) -> Bool { position > self.position || failed.contains(position) }

    /// Records the end of a lookup. They end in the order of the targets.
    mutating func end(_ target: RefundTarget, isDone: Bool) throws {
        if replaces { try ledger.remove(nil, from: name) }
        replaces = false
        if isDone, failed.remove(target.position) != nil { try ledger.remove(target.position, from: name) }
        if !isDone, failed.insert(target.position).inserted { try ledger.insert(target.position, into: name) }
        state.position = max(state.position, target.position)
        try save()
    }

    /// Marks the run as finished, so that the next one starts over.
    package mutating func finish() throws {
        (state.position, failed) = (0, [])
        try ledger.remove(nil, from: name)
        try save()
    }

    private func save() throws {
        try ledger.save(encoding: state, as: name)
        try ledger.commit()
    }
}
