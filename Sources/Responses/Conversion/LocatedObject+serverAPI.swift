import AppStorePayloads
import Base

/// Reads an object of a camelCase document for the columns of a table.
///
/// Transactions and renewals are read through the payloads of the App Store Server API, so that the same rules apply
/// (offers, trials, revocations) as for responses. Properties that only receipts have are read directly.
extension LocatedObject {
    /// Returns the value of a property in the type of its kind; `nil` if it is absent.
    ///
    /// - Throws: ``ConversionError`` if the value has another type.
    func value<Field: ModelField>(_ field: Field) throws(ConversionError) -> FieldValue? {
        guard let member = self[field.rawValue] else { return nil }
        let scalar = member.scalar
        let value: FieldValue? =
            switch field.kind {
            case .text, .numberText, .millisecondsText, .flagText, .productType: scalar?.asText.map(FieldValue.text)
            case .number: scalar?.asInteger.map(FieldValue.number)
            case .identifier: scalar?.asInteger.map(FieldValue.identifier)
            case .flag: scalar?.asFlag.map { .flag($0 ? 1 : 0) }
            case .instant: scalar?.asMilliseconds.map { .instant(Timestamp(milliseconds: $0)) }
            case .cancellation:
                scalar?.asMilliseconds.map { .cancellation(Timestamp(milliseconds: $0), isConsumable: false) }
            case .ownership: scalar?.asText.flatMap(FieldValue.ownership(named:))
            case .bytes, .attributes, .nested: nil
            }
        guard let value else { throw error(field.rawValue, field.kind.expectation) }
        return value
    }

    /// Converts the object to a payload. Numbers and texts are first converted to the types that the payload expects.
    /// Objects and arrays are not, so that the payload rejects them if it expects another type.
    func payload<Claims: SignedClaims, Field: ModelField>(_ fields: Field.Type) throws(ConversionError) -> Claims {
        let offer = self["offerType"] == nil ? offerFromVerifyReceiptKeys : ServerAPIObject()
        var writer = JSONWriter(reserving: 1_024)
        writer.beginObject()
        for field in fields.allCases where field.kind != .bytes {
            let (name, kind) = (field.rawValue, field.kind)
            if let member = self[name], member.scalar == nil {
                guard kind != .text || member.elements == nil else { continue }
                writer.key(name)
                writer.values(json: Array(member.json))
            } else if let scalar = self[name]?.scalar ?? offer[name] {
                writer.key(name)
                writer.value(scalar.fitting(kind))
            }
        }
        writer.endObject()
        do {
            var reader = ClaimReader(try JSONObject(writer.finish()))
            let claims = try Claims(&reader)
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
        for field in TransactionField.offerKeys { object[field.rawValue] = self[field.rawValue]?.scalar }
        object.convertOffer()
        return object
    }
}

extension JSONScalar {
    /// Returns the value in the JSON type that a payload expects for this kind. A value that cannot be converted is
    /// returned unchanged, so that the payload rejects it.
    fileprivate func fitting(_ kind: ValueKind) -> JSONScalar {
        switch kind {
        case .text: asText.map(JSONScalar.text) ?? self
        case .number: asInteger.map(JSONScalar.integer) ?? self
        case .instant, .cancellation: asMilliseconds.map(JSONScalar.integer) ?? self
        case .flag: asFlag.map(JSONScalar.flag) ?? self
        default: self
        }
    }
}

extension ValueKind {
    /// The description of the expected type, for error messages.
    fileprivate var expectation: String {
        switch self {
        case .number, .identifier: "a whole number of 64 bits"
        case .flag: "true or false"
        case .instant, .cancellation: "a number of milliseconds"
        case .ownership: "PURCHASED or FAMILY_SHARED"
        default: "a string"
        }
    }
}

extension FieldValue {
    /// Returns the ownership with Apple's name; `nil` for an unknown name.
    static func ownership(named name: String) -> FieldValue? {
        switch name {
        case "PURCHASED": .ownership(0)
        case "FAMILY_SHARED": .ownership(1)
        default: nil
        }
    }

    /// Converts the value of a payload to the kind that another model expects; `nil` if that is impossible.
    func converted(to kind: ValueKind) -> FieldValue? {
        switch (self, kind) {
        case (.text(let text?), .identifier): Int64(text).map(FieldValue.identifier)
        case (.text(let text?), .ownership): Self.ownership(named: text)
        default: self
        }
    }
}
