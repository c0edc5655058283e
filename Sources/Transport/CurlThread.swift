#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A thread that runs one closure. All signals are blocked in it: the main program handles them, and a write to a
/// closed connection must not raise SIGPIPE.
///
/// `@unchecked Sendable` because a `pthread_t` is a plain value that any thread may join with, and it is only read.
struct CurlThread: @unchecked Sendable {
    /// The closure, boxed so that it can be passed through a C pointer.
    private final class Work {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let identifier: pthread_t

    init?(_ run: @escaping @Sendable () -> Void) {
        let work = Unmanaged.passRetained(Work(run))
        #if canImport(Darwin)
            var thread: pthread_t?
            let result = pthread_create(&thread, nil, { Self.main($0) }, work.toOpaque())
        #else
            var thread = pthread_t()
            let result = pthread_create(&thread, nil, { Self.main($0) }, work.toOpaque())
        #endif
        guard result == 0 else {
            work.release()
            return nil
        }
        #if canImport(Darwin)
            guard let thread else { return nil }
        #endif
        identifier = thread
    }

    /// Waits for the thread to end. Call it at most once, and not after `detach`.
    func join() { pthread_join(identifier, nil) }

    /// Lets the system free the thread when it ends.
    func detach() { pthread_detach(identifier) }

    /// The entry point of the thread. It blocks all signals, then runs the closure.
    private static func main(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        var signals = sigset_t()
        sigfillset(&signals)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        guard let context else { return nil }
        Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run()
        return nil
    }
}
