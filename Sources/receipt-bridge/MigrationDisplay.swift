import Migration

/// Progress of a migration on standard error: a line that is rewritten on a terminal, otherwise a plain line every
/// few seconds.
final class MigrationDisplay: Sendable {
    private let watch: MigrationMonitor
    private let wait: @Sendable () -> Duration?
    private let line = ProgressLine()

    /// - Parameter wait: Returns how long calls wait for a rate limit; `nil` if no call waits.
    init(watch: MigrationMonitor, wait: @escaping @Sendable () -> Duration?) {
        self.watch = watch
        self.wait = wait
    }

    /// Shows progress until the task is canceled.
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

    /// Prints a sentence on a line of its own.
    func say(_ sentence: String) {
        line.clear()
        Terminal.say(sentence)
    }

    func table(_ text: String) {
        line.clear()
        Terminal.note(text)
    }
}
