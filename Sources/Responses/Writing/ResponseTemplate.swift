package import ReceiptBridgeBase

/// A cached response to an App Receipt that can be served again, because only the time of the request changes in it.
package struct ResponseTemplate: Sendable {
    private let status: VerifyReceiptStatus
    private let body: [UInt8]
    /// The offsets of the texts of `request_date`, `request_date_ms` and `request_date_pst`.
    private let utc: Int
    private let milliseconds: Int
    private let losAngeles: Int

    /// The number of bytes in which the dates are searched. The receipt begins with its dates.
    private static let searched = 4_096

    /// Returns `nil` if the response does not contain the time of its request.
    ///
    /// - Parameter requestDate: the time of the request that the response was rendered for.
    package init?(_ answer: Answer, requestDate: Timestamp) {
        let date = DateTriplet(requestDate)
        func offset(_ key: String, _ value: String) -> Int? {
            Self.position(of: Array("\"\(key)\":\"\(value)\"".utf8), in: answer.body.span).map {
                $0 + key.utf8.count + 4
            }
        }
        guard let utc = offset("request_date", date.text),
            let milliseconds = offset("request_date_ms", "\(date.milliseconds)"),
            let losAngeles = offset("request_date_pst", date.losAngelesText),
            Self.hasUsualLength(date.milliseconds)
        else { return nil }
        status = answer.status
        body = answer.body
        (self.utc, self.milliseconds, self.losAngeles) = (utc, milliseconds, losAngeles)
    }

    /// Returns where a text begins in the first ``searched`` bytes. `firstRange(of:)` is many times slower.
    private static func position(of text: [UInt8], in body: Span<UInt8>) -> Int? {
        let end = min(body.count, searched) - text.count
        var start = 0
        while start <= end {
            var matching = 0
            while matching < text.count, body[start + matching] == text[matching] { matching += 1 }
            if matching == text.count { return start }
            start += 1
        }
        return nil
    }

    /// The array was allocated for a longer body if the estimate before rendering was too high.
    package var size: Int { body.capacity }

    /// Returns the response to the same request at another time; `nil` if the milliseconds do not have 13 digits.
    package func answer(requestDate: Timestamp) -> Answer? {
        let date = DateTriplet(requestDate)
        guard Self.hasUsualLength(date.milliseconds) else { return nil }
        var body = body
        body.withUnsafeMutableBufferPointer { bytes in
            func write(_ time: CivilTime, at offset: Int) {
                time.write(into: UnsafeMutableBufferPointer(rebasing: bytes[offset..<offset + CivilTime.length]))
            }
            write(date.utc, at: utc)
            write(date.losAngeles, at: losAngeles)
            var rest = date.milliseconds
            for offset in stride(from: milliseconds + 12, through: milliseconds, by: -1) {
                bytes[offset] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            }
        }
        return Answer(status: status, body: body)
    }

    /// Returns whether the number has thirteen digits, which is so from 2001 to 2286.
    private static func hasUsualLength(_ milliseconds: Int64) -> Bool {
        (1_000_000_000_000...9_999_999_999_999).contains(milliseconds)
    }
}
