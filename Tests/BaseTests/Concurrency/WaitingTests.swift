import ReceiptBridgeBase
import Testing

@Suite("Waiting with a time limit", .timeLimit(.minutes(1)))
struct WaitingTests {
    @Test("A task is awaited up to the limit, and continues after it")
    func timeout() async {
        let signal = AsyncSignal()
        let slow = Task { () -> Int in
            await signal.wait(after: 0, atMost: .seconds(600))
            return Task.isCancelled ? -1 : 1
        }
        #expect(await TaskTimeout.value(of: slow, within: .milliseconds(1)) == nil)
        #expect(await TaskTimeout.value(of: slow, within: .zero) == nil)
        signal.signal()
        #expect(await TaskTimeout.value(of: slow, within: .seconds(600)) == 1)
    }

    @Test("A signal between the check and the wait is not lost")
    func signal() async {
        let signal = AsyncSignal()
        let before = signal.signals
        signal.signal()
        // Returns at once; the limit is longer than the time limit of this test.
        await signal.wait(after: before, atMost: .seconds(600))
        async let waiting: Void = signal.wait(after: signal.signals, atMost: .seconds(600))
        try? await Task.sleep(for: .milliseconds(20))
        signal.signal()
        await waiting
        await signal.wait(after: signal.signals, atMost: .milliseconds(5))
        #expect(signal.signals == 2)
    }

    @Test("A canceled task stops waiting for a signal")
    func canceled() async {
        let signal = AsyncSignal()
        let waiting = Task { await signal.wait(after: 0, atMost: .seconds(600)) }
        waiting.cancel()
        await waiting.value
        #expect(signal.signals == 0)
    }
}
