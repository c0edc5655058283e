import Operations
import Reports
import StoreTypes

/// Progress and summary of `notifications history`, on standard error.
final class HistoryDisplay {
    private(set) var counts = NotificationCatchUp.Counts()
    private let interval: Range<Timestamp>
    private let line = ProgressLine()
    private var last = ContinuousClock.now
    private var instant: Timestamp

    init(interval: Range<Timestamp>) {
        self.interval = interval
        instant = interval.lowerBound
    }

    func show(_ counts: NotificationCatchUp.Counts) {
        self.counts = counts
        showNow()
    }

    /// Records that everything before `instant` has been read.
    func reached(_ instant: Timestamp) {
        self.instant = instant
        showNow()
    }

    private func showNow() {
        guard last.duration(to: .now) >= line.pause else { return }
        last = .now
        line.show(
            ProgressText([
                .init("\(counts.records) notifications", importance: 1),
                .init("up to \(instant.instantText)", importance: 0),
            ]))
    }

    func end(isReplay: Bool) {
        line.clear()
        var text =
            "\(counts.records) notifications from \(interval.lowerBound.instantText) to \(interval.upperBound.instantText)"
        if isReplay { text += ": \(counts.new) new, \(counts.known) already stored" }
        if counts.refused > 0 { text += ", \(counts.refused) rejected" }
        if counts.notVerified > 0 { text += ", \(counts.notVerified) not verified" }
        Terminal.say(text)
    }
}
