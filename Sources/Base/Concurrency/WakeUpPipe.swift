#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A pipe by which any thread wakes an event loop that waits for sockets.
package final class WakeUpPipe: Sendable {
    /// The descriptor to wait for. -1 if the system has no descriptor left; then `wake` does nothing.
    package let reader: Int32
    private let writer: Int32

    package init() {
        var ends: [Int32] = [-1, -1]
        if pipe(&ends) == 0 {
            for end in ends {
                _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            }
        }
        reader = ends[0]
        writer = ends[1]
    }

    deinit {
        if reader >= 0 { close(reader) }
        if writer >= 0 { close(writer) }
    }

    /// Makes `reader` readable. A full pipe is readable already.
    package func wake() {
        var byte: UInt8 = 1
        _ = write(writer, &byte, 1)
    }

    /// Empties the pipe. Messages must be taken after that, so that the wake-up of a later one is not lost.
    package func clear() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            while read(reader, buffer.baseAddress, buffer.count) == buffer.count {}
        }
    }
}
