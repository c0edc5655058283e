import AppStorePayloads
import Base

/// One object of a camelCase document, read for the columns of a table.
///
/// Transactions and renewals are read through the payloads of the App Store Server API, so that the same rules apply
/// (offers, trials, revocations) as for responses. Properties that only receipts have are read directly.
struct ServerAPIRecord {
    /// The members by name.
    let members: [String: JSONTree]
    /// The path of the object in the document, for error messages.
    let path: String

    /// Returns the path of a member, for example `transactions[0].purchaseDate`.
    private func memberPath(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    /// Returns a member; `nil` if it is absent or `null`.
    subscript(name: String) -> JSONTree? { members[name]?.present }

    /// Returns the value of a property in the type of its kind; `nil` if it is absent.
    ///
    /// - Throws: ``ConversionError`` if the value has another type.
    func value<Field: ModelField>(_ field: Field) throws(ConversionError) -> FieldValue? {
        guard let node = self[field.rawValue] else { return nil }
        let value: FieldValue? =
            switch field.kind {
            case .text, .numberText, .millisecondsText, .flagText, .productType: node.asText.map(FieldValue.text)
            case .number: node.asInteger.map(FieldValue.number)
            case .identifier: node.asInteger.map(FieldValue.identifier)
            case .flag: node.asFlag.map { .flag($0 ? 1 : 0) }
            case .instant: node.asMilliseconds.map { .instant(Timestamp(milliseconds: $0)) }
            case .cancellation:
                node.asMilliseconds.map { .cancellation(Timestamp(milliseconds: $0), isConsumable: false) }
            case .ownership: node.asText.flatMap(FieldValue.ownership(named:))
            case .bytes, .attributes, .nested: nil
            }
        guard let value else {
            throw ConversionError(
                code: .badValue, place: memberPath(field.rawValue), reason: "expected \(field.kind.expectation)")
        }
        return value
    }

    /// Converts the object to a payload. Numbers and texts are first converted to the types that the payload expects.
    func payload<Claims: SignedClaims, Field: ModelField>(_ fields: Field.Type) throws(ConversionError) -> Claims {
        let offer = self["offerType"] == nil ? offerFromVerifyReceiptKeys : ServerAPIObject()
        var writer = JSONWriter(reserving: 1_024)
        writer.beginObject()
        for field in fields.allCases where field.kind != .bytes {
            guard let node = self[field.rawValue] ?? offer[field.rawValue], let value = node.fitting(field.kind) else {
                continue
            }
            writer.key(field.rawValue)
            writer.value(value)
        }
        writer.endObject()
        do {
            var reader = ClaimReader(try JSONObject(writer.finish()))
            let claims = try Claims(&reader)
            if let error = reader.leftOut.first { throw error }
            return claims
        } catch let error as JSONFieldError {
            throw ConversionError(
                code: .badValue, place: memberPath(error.name), reason: "expected \(error.expected)")
        } catch {
            throw ConversionError(code: .badValue, place: path, reason: "cannot be read as a signed payload")
        }
    }

    /// The offer of a document that uses the keys of verifyReceipt, as the output of `decode` does.
    private var offerFromVerifyReceiptKeys: ServerAPIObject {
        var object = ServerAPIObject()
        let offerFields: [TransactionField] = [
            .isTrialPeriod, .isInIntroOfferPeriod, .promotionalOfferId, .offerCodeRefName,
        ]
        for field in offerFields { object[field.rawValue] = self[field.rawValue] }
        object.convertOffer()
        return object
    }
}

extension JSONTree {
    /// Returns the value in the JSON type that a payload expects for this kind. A value that cannot be converted is
    /// returned unchanged, so that the payload rejects it.
    fileprivate func fitting(_ kind: ValueKind) -> JSONTree? {
        switch kind {
        case .text: if case .array = self { nil } else { asText.map(JSONTree.text) ?? self }
        case .number: asInteger.map(JSONTree.integer) ?? self
        case .instant, .cancellation: asMilliseconds.map(JSONTree.integer) ?? self
        case .flag: asFlag.map(JSONTree.flag) ?? self
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
