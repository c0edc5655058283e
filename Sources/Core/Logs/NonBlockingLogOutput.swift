import ReceiptBridgeBase
import Foundation
import Synchronization

/// A log destination that cannot block the server for long. The reader of the log may be slow or stop reading, and a
/// pipe buffers little, but responses must not wait for it.
///
/// All lines together wait at most one second per minute. Lines that cannot be written are dropped and counted, and
/// the next written line follows a notice with the number of dropped lines. `O_NONBLOCK` is not set, because it would
/// apply to every process that shares the descriptor, for example a shell; a thread with a queue would lose its lines
/// if the process ends at once.
package final class NonBlockingLogOutput: Sendable {
    /// The log of this process. All loggers share it, so that lines are not interleaved.
    package static let standardError = NonBlockingLogOutput(descriptor: STDERR_FILENO)

    private struct State {
        /// Time waited in the minute that began at `minute`.
        var waited = Duration.zero
        var minute: ContinuousClock.Instant?
        /// Part of a line was written, but not its end.
        var hasPartialLine = false
        var missing: Int64 = 0
        /// Lines dropped since the start.
        var dropped: Int64 = 0
    }

    /// Number of bytes that a pipe with room accepts at once (PIPE_BUF).
    private static let chunkBytes = 4_096

    private let descriptor: Int32
    /// Longest total wait per minute.
    private let timeout: Duration
    private let state = Mutex(State())

    package init(descriptor: Int32, timeout: Duration = .seconds(1)) {
        self.descriptor = descriptor
        self.timeout = timeout
    }

    package var dropped: Int64 { state.withLock { $0.dropped } }

    /// Writes a line with its line feed, or drops it.
    ///
    /// - Parameter notice: Returns a line that reports the number of dropped lines.
    package func write(_ line: [UInt8], notice: (_ missing: Int64) -> [UInt8]) {
        state.withLock { state in
            if state.missing > 0, writeLine(notice(state.missing), &state) { state.missing = 0 }
            guard state.missing > 0 || !writeLine(line, &state) else { return }
            state.missing += 1
            state.dropped += 1
        }
    }

    /// - Returns: Whether the whole line was written.
    private func writeLine(_ line: [UInt8], _ state: inout State) -> Bool {
        // A line feed ends a line that was written only in part, so that this line can be parsed.
        var rest = (state.hasPartialLine ? [0x0A] + line : line)[...]
        while !rest.isEmpty {
            guard hasRoom(&state) else { return false }
            let count = rest.prefix(Self.chunkBytes).withUnsafeBytes { bytes in
                Foundation.write(descriptor, bytes.baseAddress, bytes.count)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
                state.hasPartialLine = !rest.isEmpty
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }

    /// Returns whether the descriptor accepts bytes, waiting if the minute's time is not used up.
    private func hasRoom(_ state: inout State) -> Bool {
        if hasRoom(within: 0) { return true }
        let start = ContinuousClock.now
        if state.minute.map({ start - $0 >= .seconds(60) }) ?? true { (state.minute, state.waited) = (start, .zero) }
        let remaining = (timeout - state.waited) / .milliseconds(1)
        guard remaining >= 1 else { return false }
        defer { state.waited += .now - start }
        return hasRoom(within: Int32(remaining))
    }

    /// Returns whether a write would not block. That includes a pipe without a reader: the write then fails at once.
    private func hasRoom(within milliseconds: Int32) -> Bool {
        var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        var count = poll(&room, 1, milliseconds)
        while count < 0, errno == EINTR { count = poll(&room, 1, milliseconds) }
        return count > 0
    }
}
