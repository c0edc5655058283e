/// A date and time of day in the proleptic Gregorian calendar, converted from a number of seconds.
///
/// This is not a `DateFormatter` because that is ten times slower and a response contains about a thousand dates.
/// Times outside the years 0 to 9999 are clamped to the nearest second in that range, because the text has room for
/// four digits.
///
/// It is `public` and `@inlinable` because the compiler does not inline `package` functions into other modules
/// (BER.swift).
public struct CivilTime: Sendable, Hashable {
    public let year: Int
    /// 1 to 12.
    public let month: Int
    /// 1 to 31.
    public let day: Int
    public let hour: Int
    public let minute: Int
    public let second: Int

    /// 0000-01-01 00:00:00 to 9999-12-31 23:59:59, in seconds since 1970.
    @inlinable public static var range: ClosedRange<Int64> { -62_167_219_200...253_402_300_799 }

    /// The form of a date as text; always ``length`` bytes.
    package static let placeholder = "0000-00-00 00:00:00"
    @inlinable public static var length: Int { 19 }

    /// - Parameter seconds: seconds since 1970-01-01 00:00:00, in the local time of the desired time zone.
    @inlinable public init(seconds: Int64) {
        let clamped = min(max(seconds, Self.range.lowerBound), Self.range.upperBound)
        let (days, time) = UInt64(clamped - Self.range.lowerBound).quotientAndRemainder(dividingBy: UInt64(Seconds.day))
        // Days since March 1st of the year -400. With years that begin in March the leap day is the last day of the
        // year. Source of the arithmetic: Neri and Schneider, "Euclidean affine functions and their application to
        // calendar algorithms", 2022. Its 32-bit multiplications take the place of divisions.
        let (century, dayOfCentury) = (4 * (UInt32(days) + 146_097 - 60) + 3).quotientAndRemainder(dividingBy: 146_097)
        let product = 2_939_745 * UInt64(dayOfCentury | 3)
        let yearOfCentury = UInt32(truncatingIfNeeded: product >> 32)
        let dayOfYear = UInt32(truncatingIfNeeded: product) / 2_939_745 / 4
        let monthAndDay = 2_141 * dayOfYear + 197_913
        let isNextYear = dayOfYear >= 306
        year = Int(100 * century + yearOfCentury) - 400 + (isNextYear ? 1 : 0)
        month = Int(monthAndDay >> 16) - (isNextYear ? 12 : 0)
        day = Int((monthAndDay & 0xFFFF) / 2_141) + 1
        let rest = UInt32(time)
        hour = Int(rest / 3_600)
        minute = Int(rest / 60 % 60)
        second = Int(rest % 60)
    }

    /// Returns the time after an offset, usually that of a time zone. Only if that is another day, the date is
    /// computed. `seconds` are those since 1970 that this time was made from.
    @inlinable public func moved(by offset: Int64, from seconds: Int64) -> CivilTime {
        let (hours, rest) = offset.quotientAndRemainder(dividingBy: 3_600)
        let moved = hour + Int(hours)
        guard rest == 0, moved >= 0, moved < 24 else { return CivilTime(seconds: seconds + offset) }
        return CivilTime(self, hour: moved)
    }

    @inlinable init(_ time: CivilTime, hour: Int) {
        (year, month, day) = (time.year, time.month, time.day)
        (self.hour, minute, second) = (hour, time.minute, time.second)
    }

    /// Returns the number of days from 1970-01-01 to a date. Years are astronomical: the year before 1 is 0. A day
    /// after the end of the month counts from its beginning, so February 30 is March 1 or 2.
    @inlinable public static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        // Years are counted from March, so that a leap day is the last day of its year.
        let shifted = month > 2 ? year : year - 1
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Returns the seconds from 1970-01-01 00:00:00 to a date and time; the inverse of ``init(seconds:)``.
    @inlinable public static func seconds(
        year: Int64, month: Int64, day: Int64, hour: Int64, minute: Int64, second: Int64
    ) -> Int64 {
        days(year: year, month: month, day: day) * Seconds.day + hour * Seconds.hour + minute * 60 + second
    }

    package static func days(inMonth month: Int64, ofYear year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension CivilTime {
    /// Writes `YYYY-MM-DD HH:MM:SS` into ``length`` bytes, with `separator` between date and time.
    @inlinable public func write(into text: UnsafeMutableBufferPointer<UInt8>, separator: UInt8 = 0x20) {
        precondition(text.count >= Self.length)
        let bytes = UnsafeMutableRawBufferPointer(text)
        let (century, yearOfCentury) = UInt32(year).quotientAndRemainder(dividingBy: 100)
        let date = DecimalDigits.pairs(
            UInt64(century) | UInt64(yearOfCentury) << 16 | UInt64(month) << 32 | UInt64(day) << 48)
        let time = DecimalDigits.pairs(UInt64(hour) | UInt64(minute) << 16 | UInt64(second) << 32)
        // `YYYY-MM-`, `DD`, the separator and `HH:MM:SS`
        let start = date & 0xFFFF_FFFF | (date & 0xFFFF_0000_0000) << 8 | 0x2D00_002D_0000_0000
        let end = time & 0xFFFF | (time & 0xFFFF_0000) << 8 | (time & 0xFFFF_0000_0000) << 16 | 0x0000_3A00_003A_0000
        bytes.storeBytes(of: start.littleEndian, toByteOffset: 0, as: UInt64.self)
        bytes.storeBytes(of: UInt16(date >> 48).littleEndian, toByteOffset: 8, as: UInt16.self)
        bytes[10] = separator
        bytes.storeBytes(of: end.littleEndian, toByteOffset: 11, as: UInt64.self)
    }

    package var text: String {
        String(unsafeUninitializedCapacity: Self.length) { buffer in
            write(into: buffer)
            return Self.length
        }
    }
}

extension Timestamp {
    /// The instant in ISO 8601, in UTC and rounded down to a second. For example, `2026-11-21T13:25:00Z`.
    package var iso8601: String {
        let time = CivilTime(seconds: seconds)
        return String(unsafeUninitializedCapacity: CivilTime.length + 1) { buffer in
            time.write(into: buffer, separator: UInt8(ascii: "T"))
            buffer[CivilTime.length] = UInt8(ascii: "Z")
            return CivilTime.length + 1
        }
    }

    /// The date in ISO 8601, in UTC. For example, `2026-11-21`.
    package var iso8601Date: String { String(iso8601.prefix(10)) }
}

extension Timestamp {
    /// The instant of a date as transactionReceipts and verifyReceipt responses have it, for example
    /// `2011-10-12 20:05:50 Etc/GMT`; `nil` for any other text.
    package init?(greenwichText text: String) {
        let bytes = Array(text.utf8)
        let form = Array("0000-00-00 00:00:00 Etc/GMT".utf8)
        guard bytes.count == form.count else { return nil }
        var numbers: [Int64] = [0]
        for (byte, expected) in zip(bytes, form) {
            if expected == UInt8(ascii: "0") {
                guard case let digit = byte &- expected, digit < 10 else { return nil }
                numbers[numbers.count - 1] = numbers[numbers.count - 1] * 10 + Int64(digit)
            } else if byte == expected {
                numbers.append(0)
            } else {
                return nil
            }
        }
        guard (1...12).contains(numbers[1]), (1...31).contains(numbers[2]), numbers[3] < 24, numbers[4] < 60,
            numbers[5] < 61
        else { return nil }
        self.init(
            seconds: CivilTime.seconds(
                year: numbers[0], month: numbers[1], day: numbers[2],
                hour: numbers[3], minute: numbers[4], second: numbers[5]))
    }
}
