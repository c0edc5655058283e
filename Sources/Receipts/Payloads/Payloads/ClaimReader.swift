package import ReceiptBridgeBase

/// Reads the members of a JSON object of the App Store, of which only some decide.
///
/// A member that does not decide is left out if its type is not the documented one: Apple may change it, and one such
/// member must not make a genuine purchase unusable. The readers return `nil` for a member that is absent or left out.
/// Members that decide are read from ``object``, whose readers throw.
package struct ClaimReader {
    /// For the members that decide: identifiers, the environment, dates of access, revocation.
    package let object: JSONObject
    /// The members that were left out. Their names come from the code, never from the document.
    package private(set) var leftOut: [JSONFieldError] = []

    /// Whether only the names of the members that can be left out are wanted: all of them are then in ``leftOut``.
    private var lists = false

    /// The names of all members of signed payloads that do not decide, for metrics.
    package static let names: [String] = {
        guard let nothing = try? JSONObject(Array("{}".utf8)) else { return [] }
        var reader = ClaimReader(nothing)
        reader.lists = true
        let kinds: [any SignedClaims.Type] = [
            TransactionPayload.self, RenewalPayload.self, AppTransactionPayload.self, NotificationPayload.self,
        ]
        for kind in kinds { _ = try? kind.init(&reader) }
        return Set(reader.leftOut.map(\.name)).sorted()
    }()

    package init(_ object: JSONObject) { self.object = object }

    @inline(__always)
    private mutating func optional<Value>(
        _ name: StaticString, _ read: (JSONObject, StaticString) throws(JSONFieldError) -> Value?
    ) -> Value? {
        do throws(JSONFieldError) {
            if lists { throw JSONFieldError(name, "a value") }
            return try read(object, name)
        } catch {
            leftOut.append(error)
            return nil
        }
    }

    package mutating func text(_ name: StaticString) -> String? {
        optional(name) { object, name throws(JSONFieldError) in try object.text(name) }
    }

    package mutating func texts(_ name: StaticString) -> [String]? {
        optional(name) { object, name throws(JSONFieldError) in try object.texts(name) }
    }

    package mutating func integer(_ name: StaticString) -> Int64? {
        optional(name) { object, name throws(JSONFieldError) in try object.integer(name) }
    }

    package mutating func flag(_ name: StaticString) -> Bool? {
        optional(name) { object, name throws(JSONFieldError) in try object.flag(name) }
    }

    package mutating func date(_ name: StaticString) -> Timestamp? {
        optional(name) { object, name throws(JSONFieldError) in try object.date(name) }
    }

    /// The bytes of an object; `nil` if it is absent or left out. The document's limit of size applies to it.
    mutating func rawObject(_ name: StaticString) -> [UInt8]? {
        optional(name) { object, name throws(JSONFieldError) in
            try object.object(name) == nil ? nil : object.rawJSON(name)
        }
    }

    /// A value that is read from a nested object; `nil` if it is absent or left out.
    mutating func nested<Value>(_ name: StaticString, _ read: (inout ClaimReader) -> Value) -> Value? {
        if lists { leftOut.append(JSONFieldError(name, "an object")) }
        do throws(JSONFieldError) { return try required(name, read) } catch { return leaveOut(error) }
    }

    /// A value that is read from a nested object; `nil` if it is absent. Throws an error if the member is not an
    /// object.
    mutating func required<Value>(
        _ name: StaticString, _ read: (inout ClaimReader) throws(JSONFieldError) -> Value
    ) throws(JSONFieldError) -> Value? {
        guard let object = try lists ? object : object.object(name) else { return nil }
        var reader = ClaimReader(object)
        reader.lists = lists
        let value = try read(&reader)
        leftOut += reader.leftOut
        return value
    }

    /// Returns the elements of an array of objects, read one by one; empty if it is absent. Throws an error if the
    /// member is not an array of objects.
    package mutating func elements<Value>(
        _ name: StaticString, _ read: (inout ClaimReader) throws(JSONFieldError) -> Value
    ) throws(JSONFieldError) -> [Value] {
        var values: [Value] = []
        for object in try object.objects(name) ?? [] {
            var reader = ClaimReader(object)
            values.append(try read(&reader))
            leftOut += reader.leftOut
        }
        return values
    }

    /// Returns the elements of an array of objects, read one by one; empty if it is absent or left out.
    package mutating func optionalElements<Value>(
        _ name: StaticString, _ read: (inout ClaimReader) -> Value
    ) -> [Value] {
        do throws(JSONFieldError) { return try elements(name, read) } catch { return leaveOut(error) ?? [] }
    }

    private mutating func leaveOut<Value>(_ error: JSONFieldError) -> Value? {
        leftOut.append(error)
        return nil
    }
}

extension JSONObject {
    /// A date in milliseconds since 1970. Fractions, which Xcode writes, are truncated.
    package func date(_ name: StaticString) throws(JSONFieldError) -> Timestamp? {
        try milliseconds(name).map(Timestamp.init(milliseconds:))
    }

    /// A whole number of 64 bits, which may be written as text: `"1"`.
    package func number(_ name: StaticString) throws(JSONFieldError) -> Int64? {
        do throws(JSONFieldError) {
            return try integer(name)
        } catch {
            guard let number = (try? text(name)).flatMap({ Int64($0) }) else { throw error }
            return number
        }
    }

    /// A boolean, which may be written as text or as a number: `"true"`, `1`.
    package func truth(_ name: StaticString) throws(JSONFieldError) -> Bool? {
        do throws(JSONFieldError) {
            return try flag(name)
        } catch {
            switch (try? text(name))?.lowercased() ?? (try? integer(name)).map({ String($0) }) {
            case "true", "1": return true
            case "false", "0": return false
            default: throw error
            }
        }
    }

    /// A text, which may be written as a whole number: `700000000000101`.
    package func identifier(_ name: StaticString) throws(JSONFieldError) -> String? {
        do throws(JSONFieldError) {
            return try text(name)
        } catch {
            guard let number = try? integer(name) else { throw error }
            return String(number)
        }
    }
}
