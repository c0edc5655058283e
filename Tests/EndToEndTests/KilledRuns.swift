import Foundation
import Testing
import ReceiptBridgeTestSupport

/// A command that is killed several times, resumed by the same command each time, and at last ends by itself.
struct KilledRuns {
    /// Number of kills. The runs begin again if they end before.
    let kills: Int
    let start: () throws -> Running
    /// Returns the condition for the next kill, the first of which is number 0. It is called before the command starts,
    /// so that it can count from there. Each attempt begins after a reset.
    let condition: (_ attempt: Int, _ kill: Int) throws -> @Sendable () -> Bool
    /// Removes the results, so that the runs begin again.
    let reset: () throws -> Void

    /// Returns the exit code of the last run.
    func run() async throws -> Int32 {
        for attempt in 0..<20 {
            if attempt > 0 { try reset() }
            var killed = 0
            while true {
                let condition = killed < kills ? try condition(attempt, killed) : nil
                let running = try start()
                if let condition { await running.kill(when: condition) }
                let exit = await running.end()
                if exit == -SIGKILL {
                    killed += 1
                    continue
                }
                if killed >= kills { return exit }
                // It ended too early: by chance on a busy machine, or because it failed.
                guard exit == 0 || exit == 1 else { return exit }
                break
            }
        }
        Issue.record("in 20 attempts the command always ended before it was killed \(kills) times")
        return -1
    }
}
