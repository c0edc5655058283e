import ReceiptBridgeAdministration
import ReceiptBridgeBase
import ReceiptBridgeCore
import Testing

@Suite("Intervals of the notification history")
struct HistoryIntervalTests {
    private static let now = Timestamp(seconds: 1_795_262_400)
    private static let day: Int64 = 86_400_000

    private static func days(_ count: Int64) -> Timestamp { now.advanced(by: .days(count)) }

    @Test(
        "An interval is limited to the time Apple keeps notifications and ends now at the latest",
        arguments: [(AppStoreEnvironment.production, 180), (.sandbox, 30)] as [(AppStoreEnvironment, Int64)])
    func clamped(environment: AppStoreEnvironment, days: Int64) throws {
        let oldest = Self.days(-days).advanced(by: .minutes(1))
        let all = try HistoryInterval(start: nil, end: nil, in: environment, now: Self.now)
        #expect(all.start == oldest && all.end == Self.now && !all.isClamped)
        let long = try HistoryInterval(start: Self.days(-days - 1), end: Self.days(1), in: environment, now: Self.now)
        #expect(long.start == oldest && long.end == Self.now && long.isClamped)
        let short = try HistoryInterval(start: Self.days(-2), end: Self.days(-1), in: environment, now: Self.now)
        #expect(short.start == Self.days(-2) && short.end == Self.days(-1) && !short.isClamped)
        #expect(throws: InvalidOperation.self) {
            try HistoryInterval(start: nil, end: Self.days(-days), in: environment, now: Self.now)
        }
        #expect(throws: InvalidOperation.self) {
            try HistoryInterval(start: Self.days(-1), end: Self.days(-1), in: environment, now: Self.now)
        }
    }

    @Test("An interval is read in windows, the earliest first, and a window that is too long in halves")
    func windows() {
        var windows = HistoryWindows(from: Self.now, to: Self.days(2).advanced(by: .milliseconds(5)), length: .days(1))
        func window(_ start: Int64, _ end: Int64) -> HistoryWindows.Window {
            .init(start: Self.now.advanced(by: .milliseconds(start)), end: Self.now.advanced(by: .milliseconds(end)))
        }
        let first = window(0, Self.day)
        let last = window(2 * Self.day, 2 * Self.day + 5)
        var read: [HistoryWindows.Window] = []
        while let next = windows.next() {
            read.append(next)
            if next == first || next == last {
                let isCut = windows.halve(next)
                #expect(isCut == (next == first))
            }
        }
        #expect(
            read == [
                first, window(0, Self.day / 2), window(Self.day / 2, Self.day), window(Self.day, 2 * Self.day), last,
            ])
    }

    @Test(
        "Instants are days, ISO 8601 or milliseconds",
        arguments: [
            ("2026-11-21", 1_795_219_200_000), ("2026-11-21T12:00:00Z", 1_795_262_400_000),
            ("2026-11-21T12:00:00.250Z", 1_795_262_400_250), ("2026-11-21T13:00:00+01:00", 1_795_262_400_000),
            ("1795262400001", 1_795_262_400_001), ("noon", nil), ("2026", nil), ("", nil),
        ] as [(String, Int64?)])
    func instants(text: String, milliseconds: Int64?) {
        #expect(Timestamp(instant: text)?.milliseconds == milliseconds)
    }

    @Test("A filter selects a customer or a type, not both")
    func filters() {
        #expect(throws: InvalidOperation.self) { try HistoryFilter(subtype: "UPGRADE") }
        #expect(throws: InvalidOperation.self) { try HistoryFilter(type: "REFUND", transactionId: "1") }
        #expect(throws: InvalidOperation.self) { try HistoryFilter(transactionId: "0") }
    }
}
