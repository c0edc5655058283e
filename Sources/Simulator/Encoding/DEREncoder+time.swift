package import StoreTypes

extension DEREncoder {
    /// Encodes UTCTime until 2049 and GeneralizedTime from 2050 on, as RFC 5280 §4.1.2.5 requires for certificates.
    package static func time(_ instant: Timestamp) -> [UInt8] {
        let date = CivilDate(instant)
        let rest = [date.month, date.day, date.hour, date.minute, date.second].map { twoDigits($0) }.joined() + "Z"
        if (1950..<2050).contains(date.year) {
            return value(tag: 0x17, Array((twoDigits(date.year % 100) + rest).utf8))
        }
        let year = twoDigits(date.year / 100) + twoDigits(date.year % 100)
        return value(tag: 0x18, Array((year + rest).utf8))
    }
}

/// Returns two digits, for example `07` for 7.
func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
