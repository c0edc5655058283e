/// Names and values of `application/x-www-form-urlencoded`, the form in which browsers send HTML forms.
package enum FormText {
    /// The names and values of a form, still encoded. A field without an equals sign is left out.
    package struct Fields: Sequence, IteratorProtocol {
        private var rest: ArraySlice<UInt8>

        package init(of form: [UInt8]) { rest = form[...] }

        package mutating func next() -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)? {
            while !rest.isEmpty {
                let field = rest.prefix { $0 != UInt8(ascii: "&") }
                rest = rest[field.endIndex...].dropFirst()
                guard let equals = field.firstIndex(of: UInt8(ascii: "=")) else { continue }
                return (field[..<equals], field[(equals + 1)...])
            }
            return nil
        }
    }

    /// Decodes percent encoding, and plus signs as blanks; `nil` if a percent sign is not followed by two hexadecimal
    /// digits.
    package static func bytes(_ encoded: ArraySlice<UInt8>) -> [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(encoded.count)
        var rest = encoded
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                let low = rest.popFirst().flatMap(Hexadecimal.value)
            else { return nil }
            decoded.append(high << 4 | low)
        }
        return decoded
    }

    /// Decodes a name or a value; `nil` also if the bytes are not UTF-8.
    package static func text(_ encoded: ArraySlice<UInt8>) -> String? {
        bytes(encoded).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
