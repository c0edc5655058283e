import ReceiptBridgeCCurl

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
        /// What becomes of an event of a socket.
        private enum State {
            case forgotten, watched, idle
        }

        private let descriptor: Int32
        /// By socket. One that is not watched stays known to the kernel until it is closed or has an event, because the
        /// next exchange on its connection usually waits for it again.
        private var states: [State] = []
        private var buffer = [epoll_event](repeating: epoll_event(), count: 256)

        /// Returns `nil` if the process has no file descriptor left.
        init?() {
            descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
            guard descriptor >= 0 else { return nil }
        }

        deinit { close(descriptor) }

        /// Waits for these events of a socket from now on, in place of others.
        func watch(_ socket: Int32, for readiness: Readiness, tag: Int = 0) {
            if states.count <= socket {
                states += [State](repeating: .forgotten, count: Int(socket) + 1 - states.count)
            }
            states[Int(socket)] = .watched
            var events: UInt32 = 0
            if readiness.contains(.read) { events |= EPOLLIN.rawValue }
            if readiness.contains(.write) { events |= EPOLLOUT.rawValue }
            register(socket, events, tag: tag)
        }

        private func register(_ socket: Int32, _ events: UInt32, tag: Int) {
            var event = epoll_event()
            event.data.u64 = UInt64(UInt32(bitPattern: socket)) | UInt64(UInt32(truncatingIfNeeded: tag)) << 32
            event.events = events
            // The kernel forgets a socket that is closed, so the number of one that it knew may be that of a new one.
            if epoll_ctl(descriptor, EPOLL_CTL_MOD, socket, &event) != 0 {
                _ = epoll_ctl(descriptor, EPOLL_CTL_ADD, socket, &event)
            }
        }

        /// Ends the waiting for a socket. An idle one may be used again, and nothing is to arrive on it until then. Any
        /// other is shut down.
        func forget(_ socket: Int32, isIdle: Bool = false) {
            if socket < states.count { states[Int(socket)] = isIdle ? .idle : .forgotten }
        }

        /// Handles an event of a socket that is not watched. An idle one that can be read is shut down, so that a
        /// response out of turn is never taken for that of the next request. libcurl 7.88 reuses a connection with
        /// unread input.
        private func handle(_ event: epoll_event, ofUnwatched socket: Int32) {
            let isIdle = states[Int(socket)] == .idle
            guard isIdle, event.events & ~EPOLLOUT.rawValue == 0 else {
                if isIdle { SocketInput.discard(socket) }
                var event = event
                _ = epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, &event)
                return
            }
            // The last exchange waited until it could write.
            register(socket, EPOLLIN.rawValue, tag: Int(event.data.u64 >> 32))
        }

        /// Waits until a socket is ready, at most this long in ms. Returns some or all of the ready ones.
        func wait(milliseconds: Int32) -> [Event] {
            let count = epoll_wait(descriptor, &buffer, Int32(buffer.count), milliseconds)
            var events: [Event] = []
            for index in 0..<max(Int(count), 0) {
                let socket = Int32(truncatingIfNeeded: buffer[index].data.u64)
                let tag = Int(buffer[index].data.u64 >> 32)
                guard states[Int(socket)] == .watched else {
                    handle(buffer[index], ofUnwatched: socket)
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

        func watch(_ socket: Int32, for readiness: Readiness, tag: Int = 0) { sockets[socket] = (readiness, tag) }

        func forget(_ socket: Int32, isIdle: Bool = false) { sockets[socket] = nil }

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

#if os(Linux)
    private enum SocketInput {
        /// Shuts a connection down, and discards what has arrived: libcurl then finds it closed.
        static func discard(_ socket: Int32) {
            shutdown(socket, Int32(SHUT_RDWR))
            var bytes = [UInt8](repeating: 0, count: 4_096)
            for _ in 0..<64 where recv(socket, &bytes, bytes.count, Int32(MSG_DONTWAIT)) <= 0 { return }
        }
    }
#endif
