package import Ledger
package import StoreTypes

/// How far the history is written to a file, beside it: `FILE.progress`. Who has it is the only one, until its process ends.
package struct HistoryCheckpoint {
    private let ledger: MigrationStore
    /// All before this is in the file; nil where nothing is.
    package private(set) var done: Timestamp?
    /// Bytes of the file that hold it; nil where the file is not begun.
    package private(set) var size: Int64?

    /// - Parameter wish: what is asked for.
    /// - Throws: `StorageError`; ``InvalidOperation`` where the file is of something else.
    package init(besideFile path: String, for wish: String) throws {
        ledger = try MigrationStore(path: path + ".progress")
        if let kept = try text("wish"), kept != wish {
            throw InvalidOperation(
                "\(path) holds another history: other options were given for it", hint: "name another file")
        }
        done = try text("done").flatMap { Int64($0) }.map(Timestamp.init(milliseconds:))
        size = try text("size").flatMap { Int64($0) }
        try ledger.save(Array(wish.utf8), as: "wish")
        try ledger.commit()
    }

    /// Before anything is written to the file: whoever is killed then finds it to be theirs.
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

    /// Where nothing was written, what is in a file of that name later is somebody else's.
    package mutating func end() throws(StorageError) {
        guard size == 0 else { return }
        try ledger.save([], as: "size")
        try ledger.commit()
        size = nil
    }

    private func text(_ key: String) throws(StorageError) -> String? {
        try ledger.state(key).map { String(decoding: $0, as: UTF8.self) }
    }
}
