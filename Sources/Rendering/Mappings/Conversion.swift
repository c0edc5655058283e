/// How a field's value is written into an answer: the `as` column of the tables, a closed set.
///
/// Which JSON types Apple uses where: ids of apps are numbers, everything in a purchase is text. An absent value gives
/// no key, except where a conversion says otherwise.
package enum Conversion: String, Sendable, CaseIterable {
    /// A JSON string, as it is.
    case text
    /// A JSON number, 64 bits exact.
    case number
    /// A JSON number; `null` when absent, as Apple writes `download_id` now and then.
    case numberOrNull
    /// A JSON number; 0 when absent, which is also what Apple writes in sandbox.
    case numberOrZero
    /// A JSON string of decimal digits.
    case numberAsText
    /// The same, but 0 stands for none and gives no key.
    case nonZeroNumberAsText
    /// A JSON boolean.
    case flag
    /// `"true"` or `"false"`.
    case flagAsText
    /// `"1"` or `"0"`.
    case flagAsDigit
    /// `"PURCHASED"` or `"FAMILY_SHARED"`; a number without a name gives no key.
    case ownershipAsText
    /// Three JSON strings, see ``DateTriplet``.
    case dateTriplet
    /// The same under the keys of iOS 6: the bare key holds the milliseconds, `_formatted` and `_formatted_pst` the texts.
    case expiryTriplet
    /// Three JSON strings; nothing for a consumable, whose refund Apple's answers never show.
    case cancellationTriplet
    /// An object, or an array of objects, that a table of its own describes.
    case nested

    /// Whether values of this kind can be written so.
    package func fits(_ kind: ValueKind) -> Bool {
        switch self {
        case .text: [.text, .numberText, .millisecondsText, .flagText].contains(kind)
        case .number, .numberOrNull, .numberOrZero: kind == .number
        case .numberAsText: kind == .number || kind == .identifier
        case .nonZeroNumberAsText: kind == .identifier
        case .flag, .flagAsText, .flagAsDigit: kind == .flag
        case .ownershipAsText: kind == .ownership
        case .dateTriplet, .expiryTriplet: kind == .instant
        case .cancellationTriplet: kind == .cancellation
        case .nested: kind == .nested
        }
    }
}
