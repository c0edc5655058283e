import ReceiptBridgeBase
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Single flight", .timeLimit(.minutes(1)))
struct SingleFlightTests {
    private struct Failure: Error, Equatable {}

    /// Work that ends when the test says so, or when it is canceled.
    private final class Work: Sendable {
        private struct State {
            var started = 0
            var isDone = false
            var wasCanceled = false
        }

        private let state = Mutex(State())

        var started: Int { state.withLock { $0.started } }
        var wasCanceled: Bool { state.withLock { $0.wasCanceled } }

        func finish() { state.withLock { $0.isDone = true } }

        func run() async throws(Failure) -> Int {
            let number = state.withLock { state in
                state.started += 1
                return state.started
            }
            while !state.withLock({ $0.isDone }) {
                if Task.isCancelled {
                    state.withLock { $0.wasCanceled = true }
                    throw Failure()
                }
                try? await Task.sleep(for: .milliseconds(2))
            }
            return number
        }
    }

    /// Starts a caller, which has joined the others when this function returns.
    private func call(_ flights: SingleFlight<String, Int, Failure>, _ work: Work) -> Task<Int?, any Error> {
        Task.immediate {
            try await flights.value(for: "key", within: .seconds(600)) { () throws(Failure) in try await work.run() }
        }
    }

    @Test("Concurrent callers with one key share a result, and the next caller starts the work again")
    func shared() async throws {
        let flights = SingleFlight<String, Int, Failure>()
        let work = Work()
        let callers = (0..<3).map { _ in call(flights, work) }
        #expect(try await flights.value(for: "other", within: .seconds(600)) { () throws(Failure) in 7 } == 7)
        #expect(try await flights.value(for: "key", within: .milliseconds(1)) { () throws(Failure) in 7 } == nil)
        work.finish()
        for caller in callers { #expect(try await caller.value == 1) }
        #expect(try await call(flights, work).value == 2)
    }

    @Test("Work that may continue alone does, up to a maximum, and a later caller joins it")
    func alone() async throws {
        let flights = SingleFlight<String, Int, Failure>(maximumAlone: 1)
        let (first, second) = (Work(), Work())
        func ask(_ key: String, _ work: Work, within limit: Duration) async throws -> Int? {
            try await flights.value(for: key, within: limit) { () throws(Failure) in try await work.run() }
        }
        #expect(try await ask("key", first, within: .milliseconds(5)) == nil)
        // There is no room for another one.
        #expect(try await ask("other", second, within: .milliseconds(5)) == nil)
        #expect(await eventually { second.wasCanceled || second.started == 0 })
        first.finish()
        #expect(try await ask("key", first, within: .seconds(600)) ?? 0 <= 2)
        #expect(!first.wasCanceled)
        // Work that has ended takes no room.
        let third = Work()
        #expect(try await ask("third", third, within: .milliseconds(5)) == nil)
        try await Task.sleep(for: .milliseconds(10))
        third.finish()
        #expect(!third.wasCanceled)
    }

    @Test("The work is canceled when the last caller is, and not before")
    func cancellation() async throws {
        let flights = SingleFlight<String, Int, Failure>()
        let work = Work()
        let callers = (0..<3).map { _ in call(flights, work) }
        #expect(await eventually { work.started == 1 })
        for caller in callers.dropLast() { caller.cancel() }
        try await Task.sleep(for: .milliseconds(20))
        #expect(!work.wasCanceled)
        callers[2].cancel()
        for caller in callers { await #expect(throws: Failure()) { try await caller.value } }
        #expect(work.wasCanceled && work.started == 1)
    }
}
