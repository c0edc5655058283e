import Foundation
import Synchronization

/// A cache of the JWS headers that are stored in the database, and of their row ids.
///
/// A header has about 4 KB and stays the same for years. A store has at most ``capacity`` headers: a JWS with any
/// other header is stored as received.
package final class JWSHeaderTable: Sendable {
    /// Maximum number of headers in a store. The App Store has used about five in five years.
    package static let capacity = 64
    /// Maximum size of a header in bytes. A JWS with a longer header is stored as received.
    package static let maximumBytes = 16_384

    private struct State {
        var headers: [(id: UInt16, text: [UInt8])] = []
        var isFull = false
    }

    private let state = Mutex(State())

    package func id(of header: [UInt8]) -> UInt16? {
        state.withLock { $0.headers }.first { entry in
            entry.text.count == header.count && memcmp(entry.text, header, header.count) == 0
        }?.id
    }

    /// Returns the header with a row id, or `nil` if it is not in the cache.
    package func text(of id: UInt16) -> [UInt8]? { state.withLock { $0.headers }.first { $0.id == id }?.text }

    /// Adds a committed header. After a rollback, the database may give the same row id to another header.
    package func insert(_ id: UInt16, _ header: [UInt8]) {
        state.withLock { state in
            guard !state.headers.contains(where: { $0.id == id }) else { return }
            state.headers.append((id, header))
        }
    }

    package var isFull: Bool { state.withLock { $0.isFull } }

    func markFull() { state.withLock { $0.isFull = true } }
}
