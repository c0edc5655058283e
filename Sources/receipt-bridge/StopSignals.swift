import Foundation
import UnixSignals

/// Ctrl-C and SIGTERM of commands that go on where they stopped.
enum StopSignals {
    /// The first asks the work to end at its next step. The second ends the process: a read may wait for what never comes,
    /// and whatever was written down is there for the next run.
    static func watching(_ stop: @escaping @Sendable () -> Void) -> Task<Void, Never> {
        Task {
            var isFirst = true
            for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
                guard isFirst else {
                    Terminal.say("stopped at once: a second signal")
                    _exit(3)
                }
                isFirst = false
                stop()
            }
        }
    }
}
