import Foundation
import Synchronization

/// A cache of the JWS headers that are stored in the database, and of their row ids.
///
/// A header has about 4 KB and stays the same for years. A store has at most ``capacity`` headers: a JWS with any
/// other header is stored as received.
final class JWSHeaderTable: Sendable {
    /// Maximum number of headers in a store. The App Store has used about five in five years.
    static let capacity = 64
    /// Maximum size of a header in bytes. A JWS with a longer header is stored as received.
    static let maximumBytes = 16_384

    private struct State {
        var known: [(number: UInt16, text: [UInt8])] = []
        var isFull = false
    }

    private let state = Mutex(State())

    /// Returns the row id of a header, or `nil` if it is not in the cache.
    func number(of header: [UInt8]) -> UInt16? {
        state.withLock { $0.known }.first { known in
            known.text.count == header.count && memcmp(known.text, header, header.count) == 0
        }?.number
    }

    /// Returns the header with a row id, or `nil` if it is not in the cache.
    func text(of number: UInt16) -> [UInt8]? {
        state.withLock { $0.known }.first { $0.number == number }?.text
    }

    /// Adds a committed header. After a rollback, SQLite may give the same row id to another header.
    func note(_ number: UInt16, _ header: [UInt8]) {
        state.withLock { state in
            guard !state.known.contains(where: { $0.number == number }) else { return }
            state.known.append((number, header))
        }
    }

    /// `true` if the store has ``capacity`` headers and accepts no more.
    var isFull: Bool { state.withLock { $0.isFull } }

    func noteFull() { state.withLock { $0.isFull = true } }
}
