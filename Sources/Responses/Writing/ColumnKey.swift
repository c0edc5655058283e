import ReceiptBridgeBase

/// The key of one column of a table, together with the constant parts of its value.
struct ColumnKey: Sendable {
    /// `,"wire":`, with the opening quote if the value is a string. For a date, everything up to the milliseconds:
    /// `,"wire":"0000-00-00 00:00:00 Etc/GMT","wire_ms":"`.
    let beginning: [UInt8]
    /// For a date, everything after the milliseconds: `","wire_pst":"0000-00-00 00:00:00 America/Los_Angeles"`.
    /// Otherwise empty.
    let end: [UInt8]
    /// The offset of the date's text in ``beginning``, not counting the comma, and in ``end``.
    let datePosition: (beginning: Int, end: Int)

    init(wire: String, conversion: Conversion) {
        var beginning = JSONKey(wire).bytes
        var end: [UInt8] = []
        let suffix = conversion == .expiryTriplet ? "_formatted" : "_pst"
        datePosition = (wire.utf8.count + 4, wire.utf8.count + suffix.utf8.count + 6)
        switch conversion {
        case .text, .numberAsText, .nonZeroNumberAsText, .flagAsText, .flagAsDigit, .ownershipAsText:
            beginning.append(0x22)
        case .dateTriplet, .cancellationTriplet:
            beginning += Array("\"\(CivilTime.placeholder) Etc/GMT\",\"\(wire)_ms\":\"".utf8)
            end = Array("\",\"\(wire)_pst\":\"\(CivilTime.placeholder) America/Los_Angeles\"".utf8)
        case .expiryTriplet:
            beginning.append(0x22)
            end = Array(
                "\",\"\(wire)_formatted\":\"\(CivilTime.placeholder) Etc/GMT\",\"\(wire)_formatted_pst\":\"\(CivilTime.placeholder) America/Los_Angeles\""
                    .utf8)
        case .number, .numberOrNull, .numberOrZero, .flag, .nested: break
        }
        self.beginning = beginning
        self.end = end
    }

    struct Pieces {
        let beginning: UnsafeBufferPointer<UInt8>
        let end: UnsafeBufferPointer<UInt8>
        let datePosition: (beginning: Int, end: Int)
    }

    func withPieces<Result>(_ body: (Pieces) -> Result) -> Result {
        beginning.withUnsafeBufferPointer { beginning in
            end.withUnsafeBufferPointer { end in
                body(Pieces(beginning: beginning, end: end, datePosition: datePosition))
            }
        }
    }

    /// Returns all keys that a column writes, for example three for a date.
    static func names(wire: String, conversion: Conversion) -> [String] {
        switch conversion {
        case .dateTriplet, .cancellationTriplet: [wire, wire + "_ms", wire + "_pst"]
        case .expiryTriplet: [wire, wire + "_formatted", wire + "_formatted_pst"]
        default: [wire]
        }
    }
}
