import Foundation
import Synchronization

/// Headers of signed texts and their numbers, as far as they are on disk.
///
/// Of 4 KB each, the same for years. There are never more than ``capacity``: texts with any other are stored as they came.
final class JWSHeaderTable: Sendable {
    /// Headers that are kept in a store; the App Store has used about five in five years.
    static let capacity = 64
    /// Longer ones are not kept.
    static let maximumBytes = 16_384

    private struct State {
        var known: [(number: UInt16, text: [UInt8])] = []
        var isFull = false
    }

    private let state = Mutex(State())

    func number(of header: [UInt8]) -> UInt16? {
        state.withLock { $0.known }.first { known in
            known.text.count == header.count && memcmp(known.text, header, header.count) == 0
        }?.number
    }

    func text(of number: UInt16) -> [UInt8]? {
        state.withLock { $0.known }.first { $0.number == number }?.text
    }

    /// Only what is committed: a number that was rolled back may become another header's.
    func note(_ number: UInt16, _ header: [UInt8]) {
        state.withLock { state in
            guard !state.known.contains(where: { $0.number == number }) else { return }
            state.known.append((number, header))
        }
    }

    /// Whether the store takes no more of them.
    var isFull: Bool { state.withLock { $0.isFull } }

    func noteFull() { state.withLock { $0.isFull = true } }
}
