/// One JSON object, read in place: where its members are, and their values when asked for.
///
/// Of duplicate names the last one counts; a name that is spelled with escapes is another name. `null` is the same as
/// absent. A value of another type than the one asked for is an error, never a default: a `revocationDate` that cannot
/// be read must not look like none.
package struct JSONObject: Sendable {
    /// The document that the object stands in.
    package let bytes: [UInt8]
    private let members: [JSONScanner.Member]

    /// From a document that is exactly one object, with blanks around it or without.
    package init(_ bytes: [UInt8]) throws(JSONStructureError) {
        try self.init(bytes, at: 0, isDocument: true)
    }

    private init(_ bytes: [UInt8], at start: Int, isDocument: Bool) throws(JSONStructureError) {
        var scanner = JSONScanner(at: start)
        var members: [JSONScanner.Member] = []
        members.reserveCapacity(32)
        if isDocument {
            try scanner.takeDocument(bytes.span) { members.append($0) }
        } else {
            try scanner.takeObject(bytes.span) { members.append($0) }
        }
        self.bytes = bytes
        self.members = members
    }

    /// Nil when absent or null.
    private func value(_ name: StaticString) -> JSONScanner.Value? {
        let span = bytes.span
        for index in members.indices.reversed() where span.holds(name, at: members[index].name.range) {
            let value = members[index].value
            return span[value.whole.lowerBound] == UInt8(ascii: "n") ? nil : value
        }
        return nil
    }
}

extension JSONObject {
    /// Whether there is a value other than null.
    package func has(_ name: StaticString) -> Bool { value(name) != nil }

    /// A value as it is spelled, of whatever type; nil when absent or null.
    package func spelling(_ name: StaticString) -> [UInt8]? {
        value(name).map { Array(bytes[$0.whole]) }
    }

    /// The elements of an array as they are spelled; nil for what is no array.
    package func spellings(_ name: StaticString) -> [[UInt8]]? {
        (try? elements(name, "an array")).flatMap { $0 }.map { $0.map { Array(bytes[$0.whole]) } }
    }

    /// A string.
    package func text(_ name: StaticString) throws(JSONFieldError) -> String? {
        guard let value = value(name) else { return nil }
        guard case .string(let string) = value, let text = string.text(in: bytes.span) else {
            throw JSONFieldError(name, "a text")
        }
        return text
    }

    /// A whole number of 64 bits, exactly; `4990.0` is one.
    package func integer(_ name: StaticString) throws(JSONFieldError) -> Int64? {
        guard let value = value(name) else { return nil }
        guard case .scalar(let range) = value, let number = JSONNumber.integer(range, in: bytes.span) else {
            throw JSONFieldError(name, "a whole number of 64 bits")
        }
        return number
    }

    /// A number of milliseconds, no farther from 1970 than calendars reach; a fraction is cut off.
    package func milliseconds(_ name: StaticString) throws(JSONFieldError) -> Int64? {
        guard let value = value(name) else { return nil }
        guard case .scalar(let range) = value, let number = JSONNumber.milliseconds(range, in: bytes.span) else {
            throw JSONFieldError(name, "a number of milliseconds")
        }
        return number
    }

    /// `true` or `false`.
    package func flag(_ name: StaticString) throws(JSONFieldError) -> Bool? {
        guard let value = value(name) else { return nil }
        switch bytes[value.whole.lowerBound] {
        case UInt8(ascii: "t"): return true
        case UInt8(ascii: "f"): return false
        default: throw JSONFieldError(name, "true or false")
        }
    }

    /// An array of strings.
    package func texts(_ name: StaticString) throws(JSONFieldError) -> [String]? {
        guard let elements = try elements(name, "an array of texts") else { return nil }
        var texts: [String] = []
        texts.reserveCapacity(elements.count)
        for element in elements {
            guard case .string(let string) = element, let text = string.text(in: bytes.span) else {
                throw JSONFieldError(name, "an array of texts")
            }
            texts.append(text)
        }
        return texts
    }

    /// An object.
    package func object(_ name: StaticString) throws(JSONFieldError) -> JSONObject? {
        guard let value = value(name) else { return nil }
        do throws(JSONStructureError) {
            return try JSONObject(bytes, at: value.whole.lowerBound, isDocument: false)
        } catch {
            throw JSONFieldError(name, "an object")
        }
    }

    /// An array of objects.
    package func objects(_ name: StaticString) throws(JSONFieldError) -> [JSONObject]? {
        guard let elements = try elements(name, "an array of objects") else { return nil }
        var objects: [JSONObject] = []
        for element in elements {
            do throws(JSONStructureError) {
                objects.append(try JSONObject(bytes, at: element.whole.lowerBound, isDocument: false))
            } catch {
                throw JSONFieldError(name, "an array of objects")
            }
        }
        return objects
    }

    private func elements(
        _ name: StaticString, _ expected: String
    ) throws(JSONFieldError) -> [JSONScanner.Value]? {
        guard let value = value(name) else { return nil }
        var scanner = JSONScanner(at: value.whole.lowerBound)
        var elements: [JSONScanner.Value] = []
        do throws(JSONStructureError) {
            try scanner.takeArray(bytes.span) { elements.append($0) }
        } catch {
            throw JSONFieldError(name, expected)
        }
        return elements
    }
}
