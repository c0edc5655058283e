/// The ways of writing a value into a response. They are the values of the `as` column of the tables.
///
/// Apple uses different JSON types in different places: the ids of apps are numbers, and everything in a purchase is
/// text. An absent value gives no key, unless the conversion says otherwise.
package enum Conversion: String, Sendable, CaseIterable {
    case text
    /// A JSON number with exactly 64 bits.
    case number
    /// A JSON number; `null` if the value is absent, as Apple sometimes writes for `download_id`.
    case numberOrNull
    /// A JSON number; 0 if the value is absent, which is also what Apple writes in the sandbox.
    case numberOrZero
    /// A JSON string of decimal digits.
    case numberAsText
    /// A JSON string of decimal digits; 0 means that there is no value and gives no key.
    case nonZeroNumberAsText
    case flag
    /// `"true"` or `"false"`.
    case flagAsText
    /// `"1"` or `"0"`.
    case flagAsDigit
    /// `"PURCHASED"` or `"FAMILY_SHARED"`; a number without a name gives no key.
    case ownershipAsText
    /// Three JSON strings; see ``DateTriplet``.
    case dateTriplet
    /// Three JSON strings under the keys of iOS 6: the plain key contains the milliseconds, `_formatted` and
    /// `_formatted_pst` contain the texts.
    case expiryTriplet
    /// Three JSON strings as for ``dateTriplet``; nothing for a consumable, because Apple's responses never show its
    /// refund.
    case cancellationTriplet
    /// An object, or an array of objects, with a table of its own.
    case nested

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
