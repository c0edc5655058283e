import Migration

/// What people see of a migration while it runs, on standard error: a line that is rewritten on a terminal, a plain one
/// every few seconds anywhere else.
final class MigrationDisplay: Sendable {
    private let watch: MigrationMonitor
    private let wait: @Sendable () -> Duration?
    private let line = ProgressLine()

    /// - Parameter wait: how long calls wait for a rate limit; nil if none waits.
    init(watch: MigrationMonitor, wait: @escaping @Sendable () -> Duration?) {
        self.watch = watch
        self.wait = wait
    }

    /// Until the task is cancelled.
    func run() async {
        let begin = ContinuousClock.now
        var lastRows: (Int64, ContinuousClock.Instant)?
        while true {
            do {
                try await Task.sleep(for: line.pause)
            } catch {
                break
            }
            let snapshot = watch.snapshot
            let now = ContinuousClock.now
            let before = lastRows ?? (snapshot.earlierRows, begin)
            let seconds = before.1.duration(to: now) / .seconds(1)
            let rate = seconds > 0 ? Double(snapshot.counts.rows - before.0) / seconds : 0
            if seconds > 2 || lastRows == nil { lastRows = (snapshot.counts.rows, now) }
            line.show(
                snapshot.progress(rate: rate, elapsed: begin.duration(to: now) / .seconds(1), wait: wait()))
        }
        line.clear()
    }

    /// A sentence of its own line.
    func say(_ sentence: String) {
        line.clear()
        Terminal.say(sentence)
    }

    func table(_ text: String) {
        line.clear()
        Terminal.note(text)
    }
}
