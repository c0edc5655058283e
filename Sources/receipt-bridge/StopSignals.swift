import Foundation
import UnixSignals

/// Ctrl-C and SIGTERM handling of commands that can be resumed.
enum StopSignals {
    /// The first signal asks the work to stop at its next step. The second signal ends the process at once, because a
    /// read may wait forever. Progress that was saved before is available to the next run.
    static func watching(_ stop: @escaping @Sendable () -> Void) -> Task<Void, Never> {
        Task {
            var isFirst = true
            for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
                guard isFirst else {
                    Terminal.say("stopped at once by a second signal")
                    _exit(3)
                }
                isFirst = false
                stop()
            }
        }
    }
}
