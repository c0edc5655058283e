package import StoreTypes

/// One JSON object, read in place: where its members are, and their values when asked for.
///
/// Of duplicate names the last one counts. `null` is the same as absent. A value of another type than the one asked for
/// is an error, never a default: a `revocationDate` that cannot be read must not look like none.
package struct JSONObject: Sendable {
    private struct Member: Sendable {
        let name: Range<Int>
        let value: Range<Int>
    }

    /// The document that the object stands in.
    package let bytes: [UInt8]
    private let members: [Member]

    /// From a document that is exactly one object, with blanks around it or without.
    package init(_ bytes: [UInt8]) throws(JSONStructureError) {
        var walk = JSONStructure()
        let span = bytes.span
        walk.skipBlanks(span)
        members = try Self.members(&walk, span)
        walk.skipBlanks(span)
        guard walk.position == span.count else { throw walk.fails(expecting: "nothing after the object") }
        self.bytes = bytes
    }

    private init(_ bytes: [UInt8], at start: Int) throws(JSONStructureError) {
        var walk = JSONStructure(at: start)
        members = try Self.members(&walk, bytes.span)
        self.bytes = bytes
    }

    private static func members(_ walk: inout JSONStructure, _ bytes: Span<UInt8>) throws(JSONStructureError)
        -> [Member]
    {
        guard walk.take(UInt8(ascii: "{"), bytes) else { throw walk.fails(expecting: "a JSON object") }
        walk.skipBlanks(bytes)
        if walk.take(UInt8(ascii: "}"), bytes) { return [] }
        var members: [Member] = []
        members.reserveCapacity(32)
        repeat {
            let name = try walk.takeName(bytes)
            let start = walk.position
            try walk.skipValue(bytes)
            members.append(Member(name: name, value: start..<walk.position))
            walk.skipBlanks(bytes)
        } while walk.take(UInt8(ascii: ","), bytes)
        guard walk.take(UInt8(ascii: "}"), bytes) else { throw walk.fails(expecting: "a comma or }") }
        return members
    }

    /// Where the value stands; nil when absent or null.
    private func value(_ name: StaticString) -> Range<Int>? {
        let span = bytes.span
        let size = name.utf8CodeUnitCount
        var index = members.count - 1
        search: while index >= 0 {
            let member = members[index]
            index -= 1
            guard member.name.count == size else { continue }
            for offset in 0..<size where span[member.name.lowerBound + offset] != name.utf8Start[offset] {
                continue search
            }
            return span[member.value.lowerBound] == UInt8(ascii: "n") ? nil : member.value
        }
        return nil
    }
}

extension JSONObject {
    /// Whether there is a value other than null.
    package func has(_ name: StaticString) -> Bool { value(name) != nil }

    /// A string.
    package func text(_ name: StaticString) throws(JSONFieldError) -> String? {
        guard let range = value(name) else { return nil }
        guard let text = JSONScalar.text(range, in: bytes.span) else { throw JSONFieldError(name, "a text") }
        return text
    }

    /// A whole number of 64 bits, exactly; `4990.0` is one.
    package func integer(_ name: StaticString) throws(JSONFieldError) -> Int64? {
        guard let range = value(name) else { return nil }
        guard let number = JSONScalar.integer(range, in: bytes.span) else {
            throw JSONFieldError(name, "a whole number of 64 bits")
        }
        return number
    }

    /// Milliseconds since 1970; fractions, which Xcode writes, are cut off.
    package func date(_ name: StaticString) throws(JSONFieldError) -> Timestamp? {
        guard let range = value(name) else { return nil }
        guard let milliseconds = JSONScalar.milliseconds(range, in: bytes.span) else {
            throw JSONFieldError(name, "a number of milliseconds")
        }
        return Timestamp(milliseconds: milliseconds)
    }

    /// `true` or `false`.
    package func flag(_ name: StaticString) throws(JSONFieldError) -> Bool? {
        guard let range = value(name) else { return nil }
        switch bytes[range.lowerBound] {
        case UInt8(ascii: "t"): return true
        case UInt8(ascii: "f"): return false
        default: throw JSONFieldError(name, "true or false")
        }
    }

    /// An array of strings.
    package func texts(_ name: StaticString) throws(JSONFieldError) -> [String]? {
        guard let ranges = try elements(name, "an array of texts") else { return nil }
        var texts: [String] = []
        texts.reserveCapacity(ranges.count)
        for range in ranges {
            guard let text = JSONScalar.text(range, in: bytes.span) else {
                throw JSONFieldError(name, "an array of texts")
            }
            texts.append(text)
        }
        return texts
    }

    /// An object.
    package func object(_ name: StaticString) throws(JSONFieldError) -> JSONObject? {
        guard let range = value(name) else { return nil }
        do throws(JSONStructureError) {
            return try JSONObject(bytes, at: range.lowerBound)
        } catch {
            throw JSONFieldError(name, "an object")
        }
    }

    /// An array of objects.
    package func objects(_ name: StaticString) throws(JSONFieldError) -> [JSONObject]? {
        guard let ranges = try elements(name, "an array of objects") else { return nil }
        var objects: [JSONObject] = []
        for range in ranges {
            do throws(JSONStructureError) {
                objects.append(try JSONObject(bytes, at: range.lowerBound))
            } catch {
                throw JSONFieldError(name, "an array of objects")
            }
        }
        return objects
    }

    private func elements(_ name: StaticString, _ expected: String) throws(JSONFieldError) -> [Range<Int>]? {
        guard let range = value(name) else { return nil }
        let span = bytes.span
        var walk = JSONStructure(at: range.lowerBound)
        guard walk.take(UInt8(ascii: "["), span) else { throw JSONFieldError(name, expected) }
        var elements: [Range<Int>] = []
        walk.skipBlanks(span)
        if walk.take(UInt8(ascii: "]"), span) { return elements }
        do throws(JSONStructureError) {
            repeat {
                walk.skipBlanks(span)
                let start = walk.position
                try walk.skipValue(span)
                elements.append(start..<walk.position)
                walk.skipBlanks(span)
            } while walk.take(UInt8(ascii: ","), span)
        } catch {
            throw JSONFieldError(name, expected)
        }
        return elements
    }
}

/// A member that is there, but not what it should be.
package struct JSONFieldError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The member.
    package let name: String
    /// What should have stood there.
    package let expected: String

    init(_ name: StaticString, _ expected: String) {
        self.name = name.description
        self.expected = expected
    }

    /// `expiresDate: expected a number of milliseconds`.
    package var description: String { "\(name): expected \(expected)" }
}
