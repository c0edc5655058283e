/// The keys that Apple's responses use for one date: the date's own key with a suffix, which is the raw value. The most
/// exact one is the first.
package enum DateKey: String, Sendable, CaseIterable {
    /// `X_ms`: milliseconds since 1970.
    case milliseconds = "_ms"
    /// `X`: the text in GMT, or in iOS 6 responses the milliseconds.
    case plain = ""
    /// `X_formatted`: the text in GMT.
    case formatted = "_formatted"
    /// `X_pst` and `X_formatted_pst`: the same date in another time zone. They are read only if a program left out the
    /// others.
    case losAngeles = "_pst", formattedLosAngeles = "_formatted_pst"
}

extension FieldTable.Row {
    /// The keys that Apple's responses use for the property, spelled with `_`. Only those of a date have a `date`.
    package var keys: [(name: String, date: DateKey?)] {
        let wires = [wire, also].compactMap(\.self)
        guard field.kind.isDate else { return wires.map { (name: $0, date: nil) } }
        return wires.flatMap { wire in DateKey.allCases.map { (name: wire + $0.rawValue, date: $0 as DateKey?) } }
    }
}

extension ValueKind {
    /// Whether the value is a date for which responses use several keys.
    var isDate: Bool { self == .instant || self == .cancellation }
}
