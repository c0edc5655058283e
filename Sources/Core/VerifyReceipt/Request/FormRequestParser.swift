import ReceiptBridgeBase

/// Converts a request that a client sent as an HTML form, or percent-encoded like one, to the JSON that was meant. For
/// the tolerant profile only: Apple's endpoint returns 21002 for both. For example:
///
///     %7B%22receipt-data%22%3A%22MII…%22%7D
///     receipt-data=MII…&password=…&exclude-old-transactions=true
enum FormRequestParser {
    private static let keys: Set<String> = ["receipt-data", "password", "exclude-old-transactions"]

    /// Returns the JSON; `nil` if the body is neither, or if a value is not valid percent encoding. A plus sign becomes
    /// a blank. If it was a base64 digit that the client did not escape, the receipt is repaired later.
    static func json(of body: [UInt8]) -> [UInt8]? {
        if body.starts(with: Array("%7B".utf8)) || body.starts(with: Array("%7b".utf8)) {
            return FormText.bytes(body[...])
        }
        var object: [String: String] = [:]
        for field in FormText.Fields(of: body) {
            guard let name = FormText.text(field.name), keys.contains(name) else { continue }
            guard let value = FormText.text(field.value) else { return nil }
            object[name] = value
        }
        guard object["receipt-data"] != nil else { return nil }
        return JSONWriter.object(reserving: body.count) { writer in
            for (name, value) in object.sorted(by: { $0.key < $1.key }) {
                if name == "exclude-old-transactions" {
                    writer.member(name, value == "true" || value == "1")
                } else {
                    writer.member(name, value)
                }
            }
        }
    }
}
