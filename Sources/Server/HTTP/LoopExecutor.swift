import NIOCore

/// Runs tasks on the thread that reads and writes a connection, so that a request is not handed from thread to thread on
/// its way to the answer. Whatever keeps a thread for long belongs elsewhere: the loop has other connections.
final class LoopExecutor: TaskExecutor {
    /// Bytes of a body that is worked on in the loop. What is longer may take milliseconds to read and to check.
    static let maximumBodyBytes = 64 << 10

    private let loop: any EventLoop

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
