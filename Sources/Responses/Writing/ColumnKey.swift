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

/// The columns of a table in a form without references, so that a loop over them does no reference counting.
struct RowLayout<Field: ModelField>: Sendable {
    private struct Column: Sendable {
        let field: Field
        let conversion: Conversion
        /// Where the pieces of the key are in ``pieces``.
        let beginning: Range<Int>
        let end: Range<Int>
        let datePosition: (beginning: Int, end: Int)
    }

    private let columns: [Column]
    private let pieces: [UInt8]

    init(_ columns: [FieldTable<Field>.Column]) {
        var pieces: [UInt8] = []
        func append(_ piece: [UInt8]) -> Range<Int> {
            pieces += piece
            return pieces.count - piece.count..<pieces.count
        }
        self.columns = columns.map { column in
            Column(
                field: column.field, conversion: column.conversion, beginning: append(column.key.beginning),
                end: append(column.key.end), datePosition: column.key.datePosition)
        }
        self.pieces = pieces
    }

    /// Passes each column to a closure, in order.
    @inline(__always)
    func forEach(_ body: (Field, Conversion, ColumnKey.Pieces) -> Void) {
        pieces.withUnsafeBufferPointer { pieces in
            columns.withUnsafeBufferPointer { columns in
                for index in columns.indices {
                    let column = columns[index]
                    body(
                        column.field, column.conversion,
                        ColumnKey.Pieces(
                            beginning: UnsafeBufferPointer(rebasing: pieces[column.beginning]),
                            end: UnsafeBufferPointer(rebasing: pieces[column.end]), datePosition: column.datePosition))
                }
            }
        }
    }
}
