import ReceiptBridgeBase
import Testing

@Suite("Calendar and digits")
struct CivilTimeTests {
    @Test(
        "Days are counted from 1970, over leap years and centuries",
        arguments: [
            (1970, 1, 1, 0), (1969, 12, 31, -1), (2000, 2, 29, 11_016), (2000, 3, 1, 11_017), (1900, 3, 1, -25_508),
            (0, 1, 1, -719_528), (-400, 1, 1, -865_625), (9999, 12, 31, 2_932_896),
        ] as [(Int64, Int64, Int64, Int64)])
    func days(year: Int64, month: Int64, day: Int64, expected: Int64) {
        #expect(CivilTime.days(year: year, month: month, day: day) == expected)
    }

    @Test(
        "A date and its number of days are converted in both directions",
        arguments: Array(stride(from: 0, to: 10_000, by: 97)))
    func inverse(year: Int) {
        for month in 1...12 as ClosedRange<Int64> {
            let last = CivilTime.days(inMonth: month, ofYear: Int64(year))
            for day in [1, last] {
                let days = CivilTime.days(year: Int64(year), month: month, day: day)
                let time = CivilTime(seconds: days * 86_400 + 3_661)
                #expect(time.year == year && time.month == Int(month) && time.day == Int(day))
                #expect(time.hour == 1 && time.minute == 1 && time.second == 1)
            }
            let next = CivilTime.days(year: Int64(year), month: month, day: last) + 1
            #expect(CivilTime(seconds: next * 86_400).day == 1)
        }
    }

    @Test("Every second of a day and every year are written with leading zeros")
    func text() {
        func padded(_ number: Int, _ count: Int) -> String {
            String(repeating: "0", count: count - String(number).count) + String(number)
        }
        for second in 0..<86_400 {
            let time = CivilTime(seconds: Int64(second))
            let expected = "\(padded(second / 3_600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
            guard time.text.hasSuffix(" " + expected) else {
                Issue.record("\(time.text) instead of \(expected)")
                return
            }
        }
        for year in 0...9_999 {
            let seconds =
                CivilTime.days(year: Int64(year), month: 1 + Int64(year) % 12, day: 1 + Int64(year) % 28) * 86_400
            let expected = "\(padded(year, 4))-\(padded(1 + year % 12, 2))-\(padded(1 + year % 28, 2)) 00:00:00"
            #expect(CivilTime(seconds: seconds).text == expected)
        }
    }

    @Test("Four numbers below 100, and one of eight digits, are written at once")
    func digits() {
        for number in 0..<100 as Range<UInt64> {
            let (other, another) = (99 - number, number * 7 % 100)
            let pairs = DecimalDigits.pairs(number | other << 16 | another << 32 | number << 48)
            let text = withUnsafeBytes(of: pairs.littleEndian) { String(decoding: $0, as: UTF8.self) }
            #expect(text == [number, other, another, number].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined())
        }
        for number in stride(from: 0, through: 99_999_999, by: 9_973) as StrideThrough<UInt32> {
            let digits = withUnsafeBytes(of: DecimalDigits.eight(number).littleEndian) {
                String(decoding: $0, as: UTF8.self)
            }
            #expect(UInt32(digits) == number && digits.utf8.count == 8)
        }
    }

    @Test("An instant is written in ISO 8601, rounded down to a second")
    func iso8601() {
        #expect(Timestamp(milliseconds: 1_795_267_500_999).iso8601 == "2026-11-21T13:25:00Z")
        #expect(Timestamp(milliseconds: -1).iso8601 == "1969-12-31T23:59:59Z")
        #expect(Timestamp(seconds: 1_795_267_500).iso8601Date == "2026-11-21")
    }

    @Test("Hexadecimal digits are written in lower case and read in either case")
    func hexadecimal() {
        #expect(Hexadecimal.text(of: [0x00, 0x9A, 0xFF]) == "009aff")
        var digits: [UInt8] = []
        Hexadecimal.append(0xAB, to: &digits, uppercase: true)
        #expect(digits == Array("AB".utf8))
        #expect("09afAF".utf8.map { Hexadecimal.value(of: $0) } == [0, 9, 10, 15, 10, 15])
        #expect("/:@G`g ".utf8.allSatisfy { Hexadecimal.value(of: $0) == nil })
    }
}
