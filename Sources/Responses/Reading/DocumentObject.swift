package import ReceiptBridgeBase

/// One object of a verifyReceipt response, or of a document that is converted to one.
///
/// If a member is repeated, the last one counts. `null` is treated as absent. The words of a name may be separated by
/// `_` or `-`.
package struct DocumentObject: Sendable {
    let outline: JSONOutline
    let index: Int

    /// The byte range of the object, with its braces.
    package var range: Range<Int> { outline.nodes[index].value.whole }

    /// Returns a member; `nil` if it is absent or `null`.
    package subscript(name: String) -> DocumentValue? { member(name).flatMap { DocumentValue(outline, $0) } }

    func isNull(_ name: String) -> Bool { member(name).map(outline.isNull) ?? false }

    private func member(_ name: String) -> Int? {
        var found: Int?
        var name = name
        name.withUTF8 { name in
            for child in outline.children(of: index) where outline.isNamed(child, name) { found = child }
        }
        return found
    }

    /// All members in document order, repeated names included, without those that are `null`.
    package var members: [(name: String, value: DocumentValue)] {
        outline.children(of: index).compactMap { child in
            guard let name = outline.name(child), let value = DocumentValue(outline, child) else { return nil }
            return (name, value)
        }
    }

    /// Those of a list, or the one object that a flat response has instead of a list; empty for anything else.
    package func objects(_ name: String) -> [DocumentObject] { self[name]?.rows?.rows.compactMap(\.object) ?? [] }

    package var isEmpty: Bool { members.isEmpty }

    package func string(_ name: String) -> String? { self[name].flatMap { $0.string == nil ? nil : $0.text } }

    /// Returns a text, or a number as text; `nil` if the member is absent.
    package func text(_ name: String) -> String? { self[name]?.text }
}

/// One value of a response or document that is not `null`. It is read leniently: numbers may be texts, and texts may
/// be numbers.
package struct DocumentValue: Sendable {
    let outline: JSONOutline
    let index: Int

    fileprivate init?(_ outline: JSONOutline, _ index: Int) {
        guard !outline.isNull(index) else { return nil }
        self.outline = outline
        self.index = index
    }

    /// The byte range of the value; of a string with its quotes.
    package var range: Range<Int> { outline.nodes[index].value.whole }
    /// The position of a string; `nil` for any other value.
    package var string: JSONString? {
        if case .string(let string) = outline.nodes[index].value { string } else { nil }
    }
    package var json: ArraySlice<UInt8> { outline.bytes[range] }

    /// A text, the digits of a whole number, or another number or literal as written; `nil` for an object or array.
    package var text: String? { string == nil ? integer.map { String($0) } ?? written : written }

    /// A whole number of 64 bits, or a text of its digits. `4990.0` and `5e3` are whole numbers, too, if they are
    /// not texts.
    package var integer: Int64? {
        guard let written else { return nil }
        // Plain digits are never parsed as a `Double`, which would round large numbers.
        if let number = Int64(written) { return number }
        return string == nil && written.contains { ".eE".contains($0) }
            ? Double(written).flatMap(Int64.init(exactly:)) : nil
    }

    /// A text, or a number or literal as written.
    private var written: String? {
        switch outline.nodes[index].value {
        case .string(let string): string.text(in: outline.bytes.span)
        case .scalar(let range): String(decoding: outline.bytes[range], as: UTF8.self)
        case .container: nil
        }
    }

    package var object: DocumentObject? {
        outline.isObject(index) ? DocumentObject(outline: outline, index: index) : nil
    }

    /// The elements of an array, `nil` for each that is `null`; `nil` for any other value.
    package var elements: [DocumentValue?]? {
        outline.isArray(index) ? outline.children(of: index).map { DocumentValue(outline, $0) } : nil
    }
}

extension JSONOutline {
    /// Returns whether a member has this name, whose words may be separated by `_` or `-`.
    fileprivate func isNamed(_ member: Int, _ expected: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let name = nodes[member].name else { return false }
        guard !name.isEscaped else { return Self.equal(name.unescaped(in: bytes.span)[...], expected) }
        return name.range.count == expected.count && Self.equal(bytes[name.range], expected)
    }

    private static func equal(_ name: ArraySlice<UInt8>, _ expected: UnsafeBufferPointer<UInt8>) -> Bool {
        func folded(_ byte: UInt8) -> UInt8 { byte == UInt8(ascii: "-") ? UInt8(ascii: "_") : byte }
        return name.elementsEqual(expected) { folded($0) == folded($1) }
    }
}
