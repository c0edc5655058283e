import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Waits until one of many sockets can be read or written. Used on one thread.
///
/// On Linux this is epoll(7), whose cost depends on the sockets that are ready and not on those that are open. Other
/// systems get poll(2).
final class SocketPoller {
    /// What to wait for, or what is possible.
    struct Readiness: OptionSet, Hashable {
        let rawValue: UInt8
        static let read = Self(rawValue: 1)
        static let write = Self(rawValue: 2)
        /// The socket has failed or was closed by the peer. Always reported.
        static let failed = Self(rawValue: 4)
    }

    /// A socket that is ready, and the tag that it is watched with.
    typealias Event = (socket: Int32, tag: Int, readiness: Readiness)

    #if os(Linux)
        private let descriptor: Int32
        /// By socket, whether it is waited for. A socket that is forgotten stays known to the kernel until it is closed
        /// or has an event, because the next exchange on its connection usually waits for it again.
        private var isWatched: [Bool] = []
        private var buffer = [epoll_event](repeating: epoll_event(), count: 256)

        /// Returns `nil` if the process has no file descriptor left.
        init?() {
            descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
            guard descriptor >= 0 else { return nil }
        }

        deinit { close(descriptor) }

        /// Waits for these events of a socket from now on, in place of others.
        func watch(_ socket: Int32, for readiness: Readiness, tag: Int = 0) {
            if isWatched.count <= socket {
                isWatched += [Bool](repeating: false, count: Int(socket) + 1 - isWatched.count)
            }
            isWatched[Int(socket)] = true
            var event = epoll_event()
            event.data.u64 = UInt64(UInt32(bitPattern: socket)) | UInt64(UInt32(truncatingIfNeeded: tag)) << 32
            if readiness.contains(.read) { event.events |= EPOLLIN.rawValue }
            if readiness.contains(.write) { event.events |= EPOLLOUT.rawValue }
            // The kernel forgets a socket that is closed, so the number of one that it knew may be that of a new one.
            if epoll_ctl(descriptor, EPOLL_CTL_MOD, socket, &event) != 0 {
                _ = epoll_ctl(descriptor, EPOLL_CTL_ADD, socket, &event)
            }
        }

        /// Ends the waiting for a socket.
        func forget(_ socket: Int32) {
            if socket < isWatched.count { isWatched[Int(socket)] = false }
        }

        /// Waits until a socket is ready, at most this long in ms. Returns some or all of the ready ones.
        func wait(milliseconds: Int32) -> [Event] {
            let count = epoll_wait(descriptor, &buffer, Int32(buffer.count), milliseconds)
            var events: [Event] = []
            for index in 0..<max(Int(count), 0) {
                let socket = Int32(truncatingIfNeeded: buffer[index].data.u64)
                let tag = Int(buffer[index].data.u64 >> 32)
                guard isWatched[Int(socket)] else {
                    _ = epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, &buffer[index])
                    continue
                }
                let flags = buffer[index].events
                var readiness: Readiness = []
                if flags & EPOLLIN.rawValue != 0 { readiness.insert(.read) }
                if flags & EPOLLOUT.rawValue != 0 { readiness.insert(.write) }
                if flags & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { readiness.insert(.failed) }
                events.append((socket, tag, readiness))
            }
            return events
        }
    #else
        private var sockets: [Int32: (readiness: Readiness, tag: Int)] = [:]

        init?() {}

        func watch(_ socket: Int32, for readiness: Readiness, tag: Int = 0) {
            sockets[socket] = (readiness, tag)
        }

        func forget(_ socket: Int32) { sockets[socket] = nil }

        func wait(milliseconds: Int32) -> [Event] {
            var descriptors = sockets.map { socket, watched in
                pollfd(
                    fd: socket,
                    events: Int16(watched.readiness.contains(.read) ? POLLIN : 0)
                        | Int16(watched.readiness.contains(.write) ? POLLOUT : 0), revents: 0)
            }
            guard poll(&descriptors, nfds_t(descriptors.count), milliseconds) > 0 else { return [] }
            return descriptors.filter { $0.revents != 0 }.map { descriptor in
                let flags = Int32(descriptor.revents)
                var readiness: Readiness = []
                if flags & Int32(POLLIN) != 0 { readiness.insert(.read) }
                if flags & Int32(POLLOUT) != 0 { readiness.insert(.write) }
                if flags & Int32(POLLERR | POLLHUP | POLLNVAL) != 0 { readiness.insert(.failed) }
                return (descriptor.fd, sockets[descriptor.fd]?.tag ?? 0, readiness)
            }
        }
    #endif
}
