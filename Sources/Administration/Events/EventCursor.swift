import ReceiptBridgeBatch
package import ReceiptBridgeBase
import Foundation
package import ReceiptBridgeStorage
package import ReceiptBridgeCore

/// How far events were exported, in ascending order of the sequences. It may be in a file, which is locked, so only one
/// process can continue from it at a time.
///
/// The file knows the length of the output after each page, too, so that an export that was killed cuts off what it
/// writes again: an output file has each event exactly once. A stream may receive the last few twice.
package struct EventCursor {
    private struct State: RunCheckpoint {
        static let key = "events"

        /// All events up to this sequence were exported.
        var sequence: Int64 = 0
        /// The only type that is exported, or `all`; `nil` before the first export.
        var type: String?
        /// Lengths in bytes of the outputs, by path.
        var sizes: [String: Int64] = [:]
    }

    private let ledger: ProgressFile?
    private var state: State

    package init(in ledger: ProgressFile) throws(StorageError) {
        self.ledger = ledger
        state = try State.saved(in: ledger) ?? State()
    }

    /// A cursor that is not kept.
    package init(after sequence: Int64) {
        ledger = nil
        state = State(sequence: sequence)
    }

    /// Opens or creates the file.
    package init(at path: String) throws(StorageError) { try self.init(in: ProgressFile(path: path)) }

    /// The sequence that the next export continues from.
    package var sequence: Int64 { state.sequence }

    /// Returns the sequence of the oldest event, if there is room between it and this cursor: events in between may
    /// have expired.
    package func oldest(in store: any EventStore) async throws(StorageError) -> Int64? {
        guard sequence > 0 else { return nil }
        return try await store.events(after: 0, upTo: .max, limit: 1).first.map(\.sequence).flatMap {
            $0 - 1 > sequence ? $0 : nil
        }
    }

    /// Opens an output. A file of an earlier export is continued; another one that is not empty is an error.
    ///
    /// - Parameter path: `nil` for a stream, which `write` receives.
    package mutating func open(_ path: String?, _ write: @escaping ([UInt8]) -> Void) throws -> LineOutput {
        let size = path.flatMap { FileManager.default.fileExists(atPath: $0) ? state.sizes[$0] : nil }
        let output = try LineOutput(path: path, cutAt: size, write)
        if let path, size == nil {
            // So that the next export recognizes the file as its own, even if this process is killed.
            state.sizes[path] = 0
            try save()
        }
        return output
    }

    /// Sets the type of the events; `nil` for all.
    ///
    /// - Throws: ``InvalidOperation`` if another one was exported before, whose events it would leave out.
    package mutating func select(_ type: EventType?) throws(InvalidOperation) {
        let name = type?.rawValue ?? "all"
        if let known = state.type, known != name {
            let option = known == "all" ? "without --type" : "with --type \(known)"
            throw InvalidOperation(
                "the events before \(sequence) were exported \(option), so others would be left out",
                hint: "export \(option), or name another file to begin at the first event")
        }
        state.type = name
    }

    /// Writes the events since the last export, page by page. Events that are stored meanwhile are left out.
    ///
    /// - Parameter lines: returns the lines of some events.
    /// - Returns: the number of lines.
    package mutating func export(
        _ type: EventType?, from store: any EventStore, to output: inout LineOutput, at path: String?,
        _ lines: ([EventRow]) async throws -> [[UInt8]]
    ) async throws -> Int {
        try select(type)
        var count = 0
        let horizon = try await store.eventHorizon()
        while true {
            let page = try await store.events(after: state.sequence, upTo: horizon, of: type)
            let texts = try await lines(page)
            if !texts.isEmpty { try output.append(Array(texts.joined(separator: [0x0A]))) }
            count += texts.count
            // Events of other types do not have to be read again.
            let end = page.last?.sequence ?? (type == nil ? state.sequence : max(horizon, state.sequence))
            guard end > state.sequence else { return count }
            state.sequence = end
            if let size = try output.makeDurable(), let path { state.sizes[path] = size }
            try save()
        }
    }

    /// Forgets an output to which nothing was written. A later file at that path belongs to another program.
    package mutating func close(_ path: String?) throws {
        guard let path, state.sizes[path] == 0 else { return }
        state.sizes[path] = nil
        try save()
    }

    private func save() throws {
        if let ledger { try state.save(in: ledger) }
    }
}
