import ReceiptBridgeReceipts
import ReceiptBridgeBase

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
