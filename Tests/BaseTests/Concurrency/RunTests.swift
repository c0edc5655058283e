import ReceiptBridgeBase
import ReceiptBridgeTestSupport
import Synchronization
import Testing

@Suite("A run over many items", .timeLimit(.minutes(1)))
struct RunTests {
    private struct Failure: Error, Hashable { let item: Int }

    /// What happens during a run. Items can be held back until the test lets them go.
    private final class Record: Sendable {
        struct State {
            var started: [Int] = []
            var canceled: [Int] = []
            var running = 0
            var maximum = 0
            var held: Swift.Set<Int> = []
        }

        let state: Mutex<State>

        init(holding held: Swift.Set<Int> = []) { state = Mutex(State(held: held)) }

        func letGo() { state.withLock { $0.held = [] } }
        var started: Int { state.withLock { $0.started.count } }
        var canceled: [Int] { state.withLock(\.canceled) }
        var maximum: Int { state.withLock(\.maximum) }

        func perform(_ item: Int) async -> Int {
            state.withLock { state in
                state.started.append(item)
                state.running += 1
                state.maximum = max(state.maximum, state.running)
            }
            defer { state.withLock { $0.running -= 1 } }
            while state.withLock({ $0.held.contains(item) }) {
                guard (try? await Task.sleep(for: .milliseconds(2))) != nil else {
                    state.withLock { $0.canceled.append(item) }
                    break
                }
            }
            return item
        }
    }

    /// How a run over the items 0, 1, … ends that works on one item at a time.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The reason to stop before an item.
        var before: @Sendable (_ started: Int64) -> RunStop? = { _ in nil }
        /// The reason to stop after a result.
        var after: @Sendable (_ result: Int) -> RunStop? = { _ in nil }
        let stop: RunStop?
        let results: [Int]
    }

    static let cases = [
        Case(testDescription: "all items", stop: nil, results: [0, 1, 2, 3, 4]),
        Case(testDescription: "a signal before the first", before: { _ in .signal }, stop: .signal, results: []),
        Case(
            testDescription: "a limit of three items", before: { $0 == 3 ? .limit : nil }, stop: .limit,
            results: [0, 1, 2]),
        Case(
            testDescription: "a limit of as many items as there are", before: { $0 == 5 ? .limit : nil }, stop: nil,
            results: [0, 1, 2, 3, 4]),
        Case(
            testDescription: "a failure of every item", after: { $0 == 1 ? .failing("1") : nil }, stop: .failing("1"),
            results: [0, 1]),
        Case(
            testDescription: "the first reason counts", before: { $0 == 2 ? .limit : nil },
            after: { $0 == 1 ? .budget : nil }, stop: .budget, results: [0, 1]),
        Case(
            testDescription: "a reason after the last item", after: { $0 == 4 ? .budget : nil }, stop: .budget,
            results: [0, 1, 2, 3, 4]),
    ]

    @Test("It stops before an item or after a result; what was begun is passed on", arguments: cases)
    func stops(one: Case) async throws {
        let record = Record()
        var (rest, results) = (Array(0..<5)[...], [Int]())
        let stop = try await Run(workers: 1, one.before).run(
            next: { () throws(Failure) in rest.popFirst() },
            perform: { (item) async throws(Failure) in await record.perform(item) }, stop: { one.after($0) },
            finish: { (item, output) throws(Failure) in
                #expect(item == output)
                results.append(output)
            })
        #expect(stop == one.stop && results == one.results)
        #expect(record.started == one.results.count)
    }

    @Test("Results come in the order of the items, of which few are worked on or wait for an earlier one")
    func order() async throws {
        let record = Record(holding: [0, 1, 2])
        var (rest, results) = (Array(0..<20)[...], [Int]())
        let opening = Task {
            let isBusy = await eventually { record.state.withLock(\.running) == 3 }
            record.state.withLock { $0.held = [0] }
            // Item 0 holds back the results of the four after it.
            let isFull = await eventually { record.started == 5 && record.state.withLock(\.running) == 1 }
            try? await Task.sleep(for: .milliseconds(20))
            defer { record.letGo() }
            return isBusy && isFull && record.started == 5
        }
        let stop = try await Run(workers: 3, ahead: 5) { _ in nil }.run(
            next: { () throws(Failure) in rest.popFirst() },
            perform: { (item) async throws(Failure) in await record.perform(item) },
            finish: { (_, output) throws(Failure) in results.append(output) })
        #expect(await opening.value)
        #expect(stop == nil && results == Array(0..<20))
        #expect(record.maximum == 3)
    }

    @Test("An error of an item or of a result ends it and cancels the other items", arguments: [true, false])
    func errors(ofItem: Bool) async throws {
        let record = Record(holding: ofItem ? [0] : [])
        var rest = Array(0..<3)[...]
        await #expect(throws: Failure(item: ofItem ? 1 : 0)) {
            _ = try await Run(workers: 2) { _ in nil }.run(
                next: { () throws(Failure) in rest.popFirst() },
                perform: { (item) async throws(Failure) in
                    if ofItem, item == 1 { throw Failure(item: 1) }
                    return await record.perform(item)
                },
                finish: { (item, _) throws(Failure) in throw Failure(item: item) })
        }
        #expect(record.canceled == (ofItem ? [0] : []))
    }

    @Test("A signal during a long item is seen at the next tick: it is waited for, or canceled")
    func signal() async throws {
        for cancels in [true, false] {
            let record = Record(holding: [0])
            let isStopped = Atomic(false)
            var (rest, results, ticks) = ([0, 1][...], [Int](), 0)
            let stop = await Run(workers: 1, cancels: cancels) { _ in isStopped.load(ordering: .relaxed) ? .signal : nil
            }.run(
                next: { rest.popFirst() }, perform: { await record.perform($0) },
                tick: {
                    ticks += 1
                    isStopped.store(true, ordering: .relaxed)
                    if !cancels { record.letGo() }
                },
                finish: { results.append($1) })
            #expect(stop == .signal && results == [0])
            #expect(record.canceled == (cancels ? [0] : []) && record.started == 1)
            // A canceled tick comes at once, and is the last one.
            #expect(cancels ? 2...3 ~= ticks : ticks == 1)
        }
    }

    @Test("A canceled run ends with its items, and does not spin")
    func canceled() async throws {
        let record = Record(holding: [0, 1])
        let ticks = Mutex(0)
        let running = Task {
            var rest = [0, 1][...]
            return await Run(workers: 2) { _ in Task.isCancelled ? .signal : nil }.run(
                next: { rest.popFirst() }, perform: { await record.perform($0) }, tick: { ticks.withLock { $0 += 1 } },
                finish: { _, _ in })
        }
        #expect(await eventually { record.started == 2 })
        running.cancel()
        #expect(await running.value == nil)
        #expect(record.canceled.sorted() == [0, 1])
        #expect(ticks.withLock { $0 } <= 1)
    }
}
