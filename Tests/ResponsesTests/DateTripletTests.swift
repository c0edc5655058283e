import ReceiptBridgeBase
import Foundation
import ReceiptBridgeResponses
import Testing

@Suite("Date triplets")
struct DateTripletTests {
    @Test(
        "An instant is written in UTC and in Los Angeles time",
        arguments: [
            // Summer time; the milliseconds are cut off in the texts.
            (1_691_999_446_000, "2023-08-14 07:50:46", "2023-08-14 00:50:46"),
            (1_691_999_446_999, "2023-08-14 07:50:46", "2023-08-14 00:50:46"),
            // Winter time; the day and the year differ.
            (1_704_092_399_000, "2024-01-01 06:59:59", "2023-12-31 22:59:59"),
            // The second before daylight saving time begins, and the second after.
            (1_678_615_199_000, "2023-03-12 09:59:59", "2023-03-12 01:59:59"),
            (1_678_615_200_000, "2023-03-12 10:00:00", "2023-03-12 03:00:00"),
            // The second before daylight saving time ends, and the second after: the hour from 1 to 2 occurs twice.
            (1_699_174_799_000, "2023-11-05 08:59:59", "2023-11-05 01:59:59"),
            (1_699_174_800_000, "2023-11-05 09:00:00", "2023-11-05 01:00:00"),
            // The oil crisis of 1974: daylight saving time in January.
            (126_700_000_000, "1974-01-06 10:26:40", "1974-01-06 03:26:40"),
            (1_709_208_000_000, "2024-02-29 12:00:00", "2024-02-29 04:00:00"),
            (0, "1970-01-01 00:00:00", "1969-12-31 16:00:00"),
            // Rounded down, also before 1970.
            (-1, "1969-12-31 23:59:59", "1969-12-31 15:59:59"),
            (-62_167_219_200_000, "0000-01-01 00:00:00", "0000-01-01 00:00:00"),
            (64_092_211_200_000, "4001-01-01 00:00:00", "4000-12-31 16:00:00"),
            // Outside of four-digit years, the nearest second inside is used.
            (.max, "9999-12-31 23:59:59", "9999-12-31 15:59:59"),
            (.min, "0000-01-01 00:00:00", "0000-01-01 00:00:00"),
        ] as [(Int64, String, String)])
    func texts(milliseconds: Int64, greenwich: String, losAngeles: String) {
        let triplet = DateTriplet(Timestamp(milliseconds: milliseconds))
        #expect(triplet.text == greenwich + " Etc/GMT")
        #expect(triplet.losAngelesText == losAngeles + " America/Los_Angeles")
        #expect(triplet.milliseconds == milliseconds)
    }

    @Test("The texts agree with Foundation's calendars at random instants from 1970 to 2100 and at every transition")
    func agreesWithFoundation() throws {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SplitMix(state: seed)
        let zone = try #require(TimeZone(identifier: "America/Los_Angeles"))
        var instants = (0..<4_000).map { _ in Int64.random(in: 0..<4_133_980_800_000, using: &generator) }
        var date = Date(timeIntervalSince1970: 0)
        while let next = zone.nextDaylightSavingTimeTransition(after: date), next.timeIntervalSince1970 < 4_133_980_800
        {
            let milliseconds = Int64(next.timeIntervalSince1970) * 1_000
            instants += [milliseconds - 1, milliseconds, milliseconds + 1]
            date = next
        }
        let greenwich = FoundationClock(zone: try #require(TimeZone(secondsFromGMT: 0)))
        let losAngeles = FoundationClock(zone: zone)
        for instant in instants {
            let triplet = DateTriplet(Timestamp(milliseconds: instant))
            #expect(triplet.text == greenwich.text(instant) + " Etc/GMT", "seed \(seed)")
            #expect(triplet.losAngelesText == losAngeles.text(instant) + " America/Los_Angeles", "seed \(seed)")
        }
        print("date triplets against Foundation: seed \(seed), \(instants.count) instants")
    }
}

/// Formats dates with Foundation, as an independent reference.
private struct FoundationClock {
    let calendar: Calendar

    init(zone: TimeZone) {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        self.calendar = calendar
    }

    func text(_ milliseconds: Int64) -> String {
        let date = Date(timeIntervalSince1970: Double(milliseconds / 1_000))
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        return String(
            format: "%04d-%02d-%02d %02d:%02d:%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0, parts.hour ?? 0,
            parts.minute ?? 0, parts.second ?? 0)
    }
}

/// The SplitMix64 generator, so that a failure can be reproduced with its seed.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
