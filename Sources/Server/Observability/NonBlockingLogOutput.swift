import Foundation
import Synchronization

/// Where lines of the log go. Whoever reads them may stop reading, or be slow, and a pipe holds little: the answers are not
/// to stop with them. All lines together wait for at most a second a minute; what is not written then is counted, and the
/// next line that is taken comes behind one that says how many are missing.
package final class NonBlockingLogOutput: Sendable {
    package static let standardError = NonBlockingLogOutput(descriptor: STDERR_FILENO)

    private struct State {
        /// Within the minute that began then.
        var waited = Duration.zero
        var minute: ContinuousClock.Instant?
        /// A line was begun that has no end.
        var isTorn = false
        /// Since the last line that was taken.
        var missing: Int64 = 0
        var dropped: Int64 = 0
    }

    /// What a pipe with room takes at once (PIPE_BUF), in bytes.
    private static let portion = 4_096

    private let descriptor: Int32
    private let timeout: Duration
    private let state = Mutex(State())

    /// - Parameter timeout: for how long a minute lines wait.
    package init(descriptor: Int32, timeout: Duration = .seconds(1)) {
        self.descriptor = descriptor
        self.timeout = timeout
    }

    /// Lines that were not written.
    package var dropped: Int64 { state.withLock { $0.dropped } }

    /// - Parameters:
    ///   - line: with its line break.
    ///   - notice: a line that says how many are missing.
    package func write(_ line: [UInt8], notice: (_ missing: Int64) -> [UInt8]) {
        state.withLock { state in
            if state.missing > 0, writeLine(notice(state.missing), &state) { state.missing = 0 }
            guard state.missing > 0 || !writeLine(line, &state) else { return }
            state.missing += 1
            state.dropped += 1
        }
    }

    /// - Returns: whether all of the line was taken.
    private func writeLine(_ line: [UInt8], _ state: inout State) -> Bool {
        var rest = (state.isTorn ? [0x0A] + line : line)[...]
        while !rest.isEmpty {
            guard hasRoom(&state) else { return false }
            let count = rest.prefix(Self.portion).withUnsafeBytes { bytes in
                Foundation.write(descriptor, bytes.baseAddress, bytes.count)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
                state.isTorn = !rest.isEmpty
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }

    private func hasRoom(_ state: inout State) -> Bool {
        if hasRoom(within: 0) { return true }
        let begin = ContinuousClock.now
        if state.minute.map({ begin - $0 >= .seconds(60) }) ?? true { (state.minute, state.waited) = (begin, .zero) }
        let left = (timeout - state.waited) / .milliseconds(1)
        guard left >= 1 else { return false }
        defer { state.waited += .now - begin }
        return hasRoom(within: Int32(left))
    }

    /// Where there is nobody to read any more there is room: writing says so.
    private func hasRoom(within milliseconds: Int32) -> Bool {
        var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        var count = poll(&room, 1, milliseconds)
        while count < 0, errno == EINTR { count = poll(&room, 1, milliseconds) }
        return count > 0
    }
}
