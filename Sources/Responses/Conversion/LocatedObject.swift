import ReceiptBridgeReceipts
import ReceiptBridgeBase

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

/// Reads an object of a camelCase document for the columns of a table.
///
/// Transactions and renewals are read through the payloads of the App Store Server API, so that the same rules apply
/// (offers, trials, revocations) as for responses. Properties that only receipts have are read directly.
extension LocatedObject {
    /// Returns the value of a property in the type of its kind; `nil` if it is absent.
    ///
    /// - Throws: ``ConversionError`` if the value has another type.
    func value<Field: ModelField>(_ field: Field) throws(ConversionError) -> FieldValue? {
        guard let read = try value(field.rawValue, as: field.kind) else { return nil }
        guard let value = read.converted(to: field.kind) else { throw error(field.rawValue, field.kind.expectation) }
        return value
    }

    /// Converts the object to a payload. Numbers and texts are first converted to the types that the payload expects.
    /// Objects and arrays are not, so that the payload rejects them if it expects another type.
    func payload<Key: PayloadKey>(_ keys: Key.Type) throws(ConversionError) -> Key.Payload
    where Key.Payload: SignedClaims {
        let offer = self["offerType"] == nil ? offerFromVerifyReceiptKeys : ServerAPIObject()
        var writer = JSONWriter(reserving: 1_024)
        writer.beginObject()
        for field in PayloadField<Key>.allCases where field.kind != .bytes {
            let (name, kind) = (field.rawValue, field.kind)
            if let member = self[name] {
                guard kind != .text || member.elements == nil else { continue }
                writer.key(name)
                if let value = member.read(as: kind) {
                    writer.camelCase(value)
                } else {
                    writer.values(json: Array(member.json))
                }
            } else if let value = offer[name] {
                writer.key(name)
                writer.camelCase(value)
            }
        }
        writer.endObject()
        do {
            var reader = ClaimReader(try JSONObject(writer.finish()))
            let claims = try Key.Payload(&reader)
            if let error = reader.leftOut.first { throw error }
            return claims
        } catch let fieldError as JSONFieldError {
            throw error(fieldError.name, fieldError.expected)
        } catch {
            throw ConversionError(code: .badValue, place: path, reason: "cannot be read as a signed payload")
        }
    }

    /// The offer of a document that uses the keys of verifyReceipt, as the output of `decode` does.
    private var offerFromVerifyReceiptKeys: ServerAPIObject {
        var object = ServerAPIObject()
        for field in TransactionKey.offerKeys { object[field.rawValue] = self[field.rawValue]?.read(as: field.kind) }
        object.convertOffer()
        return object
    }
}
