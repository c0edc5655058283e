/// A JSON object that is read in place. It stores the positions of its members and decodes a value only when it is
/// requested.
///
/// If a name occurs more than once, the last member counts. A name that is written with escapes never matches. A member
/// that is absent or `null` is returned as `nil`. A value of the wrong type is an error and never replaced by a
/// default, because a `revocationDate` that cannot be read must not look like a purchase that was not revoked.
package struct JSONObject: Sendable {
    /// The bytes of the whole document that contains this object.
    package let bytes: [UInt8]
    private let members: [JSONScanner.Member]

    /// Reads a document that consists of exactly one object, with optional whitespace around it.
    ///
    /// - Throws: ``JSONStructureError`` if the bytes are not such a document.
    package init(_ bytes: [UInt8]) throws(JSONStructureError) { try self.init(bytes, at: 0, isDocument: true) }

    /// Scans the object at `start`; if `isDocument` is true, nothing else may follow it.
    private init(_ bytes: [UInt8], at start: Int, isDocument: Bool) throws(JSONStructureError) {
        var scanner = JSONScanner(at: start)
        var members: [JSONScanner.Member] = []
        members.reserveCapacity(32)
        if isDocument {
            try scanner.scanDocument(bytes.span) { members.append($0) }
        } else {
            try scanner.scanObject(bytes.span) { members.append($0) }
        }
        self.bytes = bytes
        self.members = members
    }

    /// Returns the last member of this name; `nil` if it is absent or `null`.
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
    package func has(_ name: StaticString) -> Bool { value(name) != nil }

    /// Returns the bytes of a value of any type as written in the document; `nil` if the member is absent or `null`.
    package func rawJSON(_ name: StaticString) -> [UInt8]? { value(name).map { Array(bytes[$0.whole]) } }

    /// The bytes of each element of an array as written in the document; `nil` also if the member is not an array.
    package func rawElements(_ name: StaticString) -> [[UInt8]]? {
        (try? elements(name, "an array")).flatMap { $0 }.map { $0.map { Array(bytes[$0.whole]) } }
    }

    /// The members that are objects, in their order, whatever their names.
    package var objectMembers: [JSONObject] {
        members.compactMap { member in
            guard bytes[member.value.whole.lowerBound] == UInt8(ascii: "{") else { return nil }
            return try? JSONObject(bytes, at: member.value.whole.lowerBound, isDocument: false)
        }
    }

    /// Returns a string. Throws an error if the value is not a string, is not UTF-8, or contains an unpaired surrogate.
    package func text(_ name: StaticString) throws(JSONFieldError) -> String? {
        guard let value = value(name) else { return nil }
        guard case .string(let string) = value, let text = string.text(in: bytes.span) else {
            throw JSONFieldError(name, "a string")
        }
        return text
    }

    /// Returns a whole number that fits exactly into 64 bits, for example `4990` or `4990.0`.
    package func integer(_ name: StaticString) throws(JSONFieldError) -> Int64? {
        guard let value = value(name) else { return nil }
        guard case .scalar(let range) = value, let number = JSONNumber.integer(range, in: bytes.span) else {
            throw JSONFieldError(name, "a whole number of 64 bits")
        }
        return number
    }

    /// Returns a timestamp in milliseconds since 1970, rounded down to a whole number. Throws an error if the value is
    /// not a number, or more than 8.64 · 10¹⁵ ms from 1970.
    package func milliseconds(_ name: StaticString) throws(JSONFieldError) -> Int64? {
        guard let value = value(name) else { return nil }
        guard case .scalar(let range) = value, let number = JSONNumber.milliseconds(range, in: bytes.span) else {
            throw JSONFieldError(name, "a number of milliseconds")
        }
        return number
    }

    package func flag(_ name: StaticString) throws(JSONFieldError) -> Bool? {
        guard let value = value(name) else { return nil }
        switch bytes[value.whole.lowerBound] {
        case UInt8(ascii: "t"): return true
        case UInt8(ascii: "f"): return false
        default: throw JSONFieldError(name, "true or false")
        }
    }

    package func texts(_ name: StaticString) throws(JSONFieldError) -> [String]? {
        guard let elements = try elements(name, "an array of strings") else { return nil }
        var texts: [String] = []
        texts.reserveCapacity(elements.count)
        for element in elements {
            guard case .string(let string) = element, let text = string.text(in: bytes.span) else {
                throw JSONFieldError(name, "an array of strings")
            }
            texts.append(text)
        }
        return texts
    }

    /// Returns a nested object, which shares the bytes of the document.
    package func object(_ name: StaticString) throws(JSONFieldError) -> JSONObject? {
        guard let value = value(name) else { return nil }
        do throws(JSONStructureError) {
            return try JSONObject(bytes, at: value.whole.lowerBound, isDocument: false)
        } catch {
            throw JSONFieldError(name, "an object")
        }
    }

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

    /// Returns the elements of an array; `nil` if the member is absent or `null`.
    ///
    /// - Parameter expected: the description of the expected type for the error.
    private func elements(_ name: StaticString, _ expected: String) throws(JSONFieldError) -> [JSONScanner.Value]? {
        guard let value = value(name) else { return nil }
        var scanner = JSONScanner(at: value.whole.lowerBound)
        var elements: [JSONScanner.Value] = []
        do throws(JSONStructureError) {
            try scanner.scanArray(bytes.span) { elements.append($0) }
        } catch {
            throw JSONFieldError(name, expected)
        }
        return elements
    }
}
