/// One object of a document that is read strictly, with its path for error messages.
package struct LocatedObject {
    package let object: DocumentObject
    /// The path of the object in the document; empty for the whole document.
    let path: String

    /// Returns a member; `nil` if it is absent or `null`.
    subscript(name: String) -> DocumentValue? { object[name] }

    func object(_ name: String) throws(ConversionError) -> LocatedObject? {
        guard let value = self[name] else { return nil }
        guard let object = value.one?.object else { throw error(name, "an object") }
        return LocatedObject(object: object, path: path(of: name))
    }

    func objects(_ name: String) throws(ConversionError) -> [LocatedObject]? {
        guard let value = self[name] else { return nil }
        guard let rows = value.rows?.rows else { throw error(name, "an array of objects") }
        var objects: [LocatedObject] = []
        for row in rows {
            guard let object = row.object else { throw error(name + row.place, "an object") }
            objects.append(LocatedObject(object: object, path: path(of: name + row.place)))
        }
        return objects
    }

    /// - Parameter keys: the keys from which it is read; that of its name if there are none.
    func value(_ name: String, _ keys: [String] = [], as kind: ValueKind) throws(ConversionError) -> FieldValue? {
        let reading = object.read(keys.isEmpty ? [name] : keys, as: kind)
        if case .unreadable? = reading { throw error(name, kind.expectation) }
        return reading?.value
    }

    /// Returns the path of a member, for example `transactions[0].purchaseDate`.
    func path(of name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    func error(_ name: String, _ expected: String) -> ConversionError {
        ConversionError(code: .badValue, place: path(of: name), reason: "expected \(expected)")
    }
}

extension ValueKind {
    /// The description of the expected type, for error messages.
    var expectation: String {
        switch self {
        case .number, .identifier: "a whole number of 64 bits"
        case .flag: "true or false"
        case .instant, .cancellation: "a date"
        case .ownership: "PURCHASED or FAMILY_SHARED"
        default: "a string"
        }
    }
}
