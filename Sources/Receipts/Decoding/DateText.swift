import ReceiptBridgeBase

/// Parses the dates of App Receipts: `YYYY-MM-DDTHH:MM:SS`, optionally a fraction, then `Z` or an offset (`+0300` or
/// `+03:00`, as Xcode 12 writes it). This is RFC 3339; the dates of Apple's own receipts are always in UTC. They have
/// whole seconds, except for attributes 8 and 18 of a macOS receipt of 2020 (`…T08:46:35.304Z`).
enum DateText {
    /// Returns the instant; `nil` if the text is not such a date. The calendar is proleptic Gregorian, so that for
    /// example `4001-01-01T00:00:00Z` is valid.
    static func timestamp(of range: Range<Int>, in bytes: borrowing Span<UInt8>) -> Timestamp? {
        guard range.count >= 20 else { return nil }
        let start = range.lowerBound
        let text = bytes.extracting(range)
        guard let year = number(0, 4, in: text), text[4] == UInt8(ascii: "-"),
            let month = number(5, 2, in: text), text[7] == UInt8(ascii: "-"),
            let day = number(8, 2, in: text), text[10] == UInt8(ascii: "T"),
            let hour = number(11, 2, in: text), text[13] == UInt8(ascii: ":"),
            let minute = number(14, 2, in: text), text[16] == UInt8(ascii: ":"),
            let second = number(17, 2, in: text),
            (1...12).contains(month), day >= 1,
            day <= 28 || day <= CivilTime.days(inMonth: month, ofYear: year), hour < 24, minute < 60, second < 61
        else { return nil }
        let seconds = CivilTime.seconds(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        if range.count == 20, text[19] == UInt8(ascii: "Z") { return Timestamp(milliseconds: seconds * 1000) }
        var position = start + 19
        guard let fraction = milliseconds(&position, end: range.upperBound, in: bytes),
            let offset = offsetSeconds(position, end: range.upperBound, in: bytes)
        else { return nil }
        return Timestamp(milliseconds: (seconds - offset) * 1000 + fraction)
    }

    @inline(__always)
    private static func number(_ start: Int, _ count: Int, in bytes: borrowing Span<UInt8>) -> Int64? {
        var value: Int64 = 0
        for position in start..<start + count {
            let digit = bytes[position] &- 0x30
            guard digit < 10 else { return nil }
            value = value * 10 + Int64(digit)
        }
        return value
    }

    /// Reads an optional fraction after the seconds: `.` and digits, of which the first three count. Returns
    /// milliseconds.
    private static func milliseconds(_ position: inout Int, end: Int, in bytes: borrowing Span<UInt8>) -> Int64? {
        guard bytes[position] == UInt8(ascii: ".") else { return 0 }
        position += 1
        var value: Int64 = 0
        var weight: Int64 = 100
        let first = position
        while position < end, case let digit = bytes[position] &- 0x30, digit < 10 {
            value += Int64(digit) * weight
            weight /= 10
            position += 1
        }
        return position > first && position < end ? value : nil
    }

    /// Reads `Z` or an offset up to the end of the text. Returns the offset in seconds, positive for times east of
    /// Greenwich.
    private static func offsetSeconds(_ position: Int, end: Int, in bytes: borrowing Span<UInt8>) -> Int64? {
        let sign = bytes[position]
        let rest = end - position - 1
        if sign == UInt8(ascii: "Z") { return rest == 0 ? 0 : nil }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), rest == 4 || rest == 5,
            let hours = number(position + 1, 2, in: bytes), hours < 24
        else { return nil }
        if rest == 5, bytes[position + 3] != UInt8(ascii: ":") { return nil }
        guard let minutes = number(end - 2, 2, in: bytes), minutes < 60 else { return nil }
        return (sign == UInt8(ascii: "-") ? -1 : 1) * (hours * 3600 + minutes * 60)
    }
}
