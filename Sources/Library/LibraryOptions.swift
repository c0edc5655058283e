import ReceiptBridgeBase

/// The options of a call.
struct LibraryOptions {
    /// Certificates in the base64 of DER.
    private(set) var certificates: [String] = []
    /// Whether the result has what is in the receipt.
    private(set) var hasPurchases = true
    /// Transaction ids beside the value.
    private(set) var transactionIds: [UInt8]?

    init(json: [UInt8]) throws(OptionError) {
        let bytes = json.span
        var members: [JSONScanner.Member] = []
        do throws(JSONStructureError) {
            var scanner = JSONScanner()
            try scanner.scanDocument(bytes) { members.append($0) }
        } catch {
            throw OptionError("the options are not a JSON object: \(error)")
        }
        for member in members {
            let value = Array(json[member.value.whole])
            if member.name.matches("certificates", in: bytes) {
                certificates = try Self.texts(value)
            } else if member.name.matches("purchases", in: bytes) {
                guard let flag = ["true": true, "false": false][String(decoding: value, as: UTF8.self)] else {
                    throw OptionError("purchases: neither true nor false")
                }
                hasPurchases = flag
            } else if member.name.matches("transactionIds", in: bytes) {
                if case .string(let text) = member.value {
                    transactionIds = text.unescaped(in: bytes)
                } else if value != Array("null".utf8) {
                    transactionIds = value
                }
            } else {
                throw OptionError("an unknown option; there are certificates, purchases and transactionIds")
            }
        }
    }

    /// Returns the elements of an array of texts.
    private static func texts(_ json: [UInt8]) throws(OptionError) -> [String] {
        let bytes = json.span
        var texts: [String?] = []
        do throws(JSONStructureError) {
            var scanner = JSONScanner()
            try scanner.scanArray(bytes) { value in
                if case .string(let text) = value { texts.append(text.text(in: bytes)) } else { texts.append(nil) }
            }
        } catch {
            throw OptionError("certificates: not an array")
        }
        guard texts.allSatisfy({ $0 != nil }) else { throw OptionError("certificates: an element is not a text") }
        return texts.compactMap(\.self)
    }
}

/// The reason why the options of a call cannot be used.
struct OptionError: Error {
    let code: String
    let reason: String

    init(code: String = "badOptions", _ reason: String) { (self.code, self.reason) = (code, reason) }
}
