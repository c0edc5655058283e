import Rendering
package import StoreTypes

/// One value of either side, in the types of the App Store Server API.
package enum ComparedValue: Sendable, Hashable, Codable {
    case text(String)
    case number(Int64)
    case flag(Bool)
    /// In JSON a number of milliseconds.
    case instant(Timestamp)

    /// Bytes of a text that a difference shows; a receipt's base64 has a hundred thousand.
    package static let shownCharacters = 128
    /// Characters that it shows of a longer one: of a receipt these are the same for all.
    private static let shownBeginning = 24

    /// The value, cut down to what a difference shows of it.
    package var truncated: ComparedValue {
        guard case .text(let text) = self, text.utf8.count > Self.shownCharacters else { return self }
        return .text("\(text.prefix(Self.shownBeginning))… (\(text.utf8.count) bytes)")
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var number: Int64? { if case .number(let number) = self { number } else { nil } }
    var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    var instant: Timestamp? { if case .instant(let instant) = self { instant } else { nil } }

    /// The same value as the field tables know it; nil for what is no scalar.
    init?(_ value: FieldValue) {
        switch value {
        case .text(let text): self = .text(text)
        case .number(let number): self = .number(number)
        case .identifier(let number): self = .text(String(number))
        case .flag(let flag): self = .flag(flag != 0)
        case .instant(let instant), .cancellation(let instant, isConsumable: _): self = .instant(instant)
        case .ownership, .productType, .bytes, .attributes: return nil
        }
    }
}

extension JSONWriter {
    /// As a JSON scalar; `null` for nothing.
    mutating func value(_ value: ComparedValue?) {
        switch value?.truncated {
        case .text(let text)?: self.value(text)
        case .number(let number)?: self.value(number)
        case .flag(let flag)?: self.value(flag)
        case .instant(let instant)?: self.value(instant.milliseconds)
        case nil: null()
        }
    }
}
