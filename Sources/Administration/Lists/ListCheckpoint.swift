import ReceiptBridgeBatch
import Foundation
import ReceiptBridgeCore
import ReceiptBridgeStorage

/// A checkpoint file `FILE.progress` of a run over a list. It records which items have a line in the output. It is
/// locked, so only one process can use it at a time.
package struct ListCheckpoint {
    /// What is stored.
    private struct State: RunCheckpoint {
        static let key = "list"

        /// Identifies the run, also after it was resumed.
        var run = UUID().uuidString.lowercased()
        /// The list and the options. A run with others must not resume this one.
        var options: String
        /// Items before this index were tried.
        var next = 0
        /// Indexes of tried items that failed, in files that have no set of them.
        var failed: [Int64]?
        /// Number of items whose result is not a success.
        var refused = 0
        /// Length in bytes of the complete part of the output; `nil` if the output was not started.
        var size: Int64?
        var isFinished = false
    }

    private let ledger: ProgressFile
    private let path: String
    private var state: State
    /// Indexes of tried items that failed.
    private var failed: Set<Int64> = []

    /// Opens or creates the checkpoint.
    ///
    /// - Parameters:
    ///   - path: Path of the checkpoint file.
    ///   - options: A text that stands for the list and the options.
    ///   - isFresh: Starts over, whatever the file contains.
    /// - Throws: `StorageError`; ``InvalidOperation`` if the file was written for another list or other options.
    package init(at path: String, for options: String, isFresh: Bool) throws {
        self.path = path
        ledger = try ProgressFile(path: path)
        let stored = try State.saved(in: ledger)
        if let stored, !isFresh {
            guard stored.options == options else {
                throw InvalidOperation(
                    "\(path) belongs to another list or to other options", hint: "--fresh starts over")
            }
            state = stored
            for index in stored.failed ?? [] { try ledger.insert(index, into: State.key) }
            state.failed = nil
            failed = try ledger.numbers(in: State.key)
        } else {
            // The output of the previous run is replaced, if there is one.
            state = State(options: options, size: stored?.size == nil ? nil : 0)
            try ledger.remove(nil, from: State.key)
            try save()
        }
    }

    /// Forgets what was done, after a run that finished.
    package mutating func startOver() throws {
        state = State(options: state.options, size: nil)
        try save()
    }

    /// A random text that identifies the run, the same when it is resumed.
    package var run: String { state.run }
    /// Number of items whose result is not a success.
    package var refused: Int { state.refused }
    /// Length in bytes of the complete part of the output; `nil` if the output was not started.
    package var size: Int64? { state.size }
    /// `true` once every item has a line.
    package var isFinished: Bool { state.isFinished }

    /// Returns the indexes of the items to do: those that failed before, then the others.
    package func remaining(of count: Int) -> [Int] {
        state.isFinished
            ? []
            : failed.map { Int($0) }.filter((0..<count).contains).sorted() + (min(max(state.next, 0), count)..<count)
    }

    /// Records that an item has a line.
    mutating func complete(_ index: Int, isSuccess: Bool) throws {
        state.next = max(state.next, index + 1)
        if !isSuccess { state.refused += 1 }
        if failed.remove(Int64(index)) != nil { try ledger.remove(Int64(index), from: State.key) }
    }

    /// Records that an item failed for now.
    mutating func postpone(_ index: Int) throws {
        state.next = max(state.next, index + 1)
        if failed.insert(Int64(index)).inserted { try ledger.insert(Int64(index), into: State.key) }
    }

    /// Marks the output as started. Called before the first write, so that the next run recognizes the file as its own
    /// even if this process is killed.
    package mutating func begin() throws {
        guard state.size == nil else { return }
        state.size = 0
        try save()
    }

    /// Saves what was recorded.
    ///
    /// - Parameter size: Length of the output, which is on disk; `nil` if it is not a file.
    mutating func save(size: Int64?) throws {
        if let size { state.size = size }
        try save()
    }

    /// Ends a run. It is finished if every item was tried and none failed. If nothing was written, a file of that name
    /// that exists later belongs to another program.
    package mutating func end(of count: Int) throws {
        state.isFinished = state.next >= count && failed.isEmpty
        if state.size == 0 { state.size = nil }
        try save()
    }

    private func save() throws { try state.save(in: ledger) }
}
