package import ReceiptBridgeBase
import ReceiptBridgeCore
package import ReceiptBridgeStorage

/// A checkpoint file `FILE.progress` next to the output file. It records how far the history has been written. It is
/// locked, so only one process can use it at a time.
package struct HistoryCheckpoint {
    private let ledger: ProgressFile
    /// The key of the options in existing files.
    private static let optionsKey = "wish"
    /// Everything before this time is in the file; `nil` if nothing is.
    package private(set) var done: Timestamp?
    /// Length in bytes of the part of the file that is complete; `nil` if the file was not started.
    package private(set) var size: Int64?

    /// - Parameter options: The options that select the history.
    /// - Throws: `StorageError`; ``InvalidOperation`` if the file was written with other options.
    package init(nextTo path: String, for options: String) throws {
        ledger = try ProgressFile(path: path + ".progress")
        if let stored = try ledger.state(Self.optionsKey), stored != Array(options.utf8) {
            throw InvalidOperation(
                "\(path) was written with other options", hint: "name another file")
        }
        done = try ledger.number("done", in: StoredNumber.times).map(Timestamp.init(milliseconds:))
        size = try ledger.number("size", in: 0...StoredNumber.integers.upperBound)
        try ledger.save(Array(options.utf8), as: Self.optionsKey)
        try ledger.commit()
    }

    /// Marks the file as started. Called before the first write, so that the next run recognizes the file as its own
    /// even if this process is killed.
    package mutating func begin() throws(StorageError) {
        guard size == nil else { return }
        try ledger.save(Array("0".utf8), as: "size")
        try ledger.commit()
        size = 0
    }

    package mutating func save(done: Timestamp, size: Int64) throws(StorageError) {
        try ledger.save(Array(String(done.milliseconds).utf8), as: "done")
        try ledger.save(Array(String(size).utf8), as: "size")
        try ledger.commit()
        self.done = done
        self.size = size
    }

    /// If nothing was written, the file counts as not started: one that exists later is another program's.
    package mutating func end() throws(StorageError) {
        guard size == 0 else { return }
        try ledger.save([], as: "size")
        try ledger.commit()
        size = nil
    }
}
