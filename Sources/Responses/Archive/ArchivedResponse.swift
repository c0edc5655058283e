package import ReceiptBridgeBase

/// One of Apple's verifyReceipt responses in the form in which it is archived: without the values that change with
/// every request, and without the receipt that the client submits again. For example:
///
///     { "receipt": { …, "request_date": "", "request_date_ms": "", "request_date_pst": "", … },
///       "latest_receipt": "", "latest_receipt_info": [ … ], "pending_renewal_info": [ … ], "status": 0 }
///
/// The same purchases give the same bytes, whatever the time of the request.
package struct ArchivedResponse: Sendable, Hashable {
    /// The status in the response: 0 or 21006.
    package let status: VerifyReceiptStatus
    /// Apple's response with the values of ``VolatileFields`` replaced by empty texts.
    package let body: [UInt8]
    /// The decoded base64 of `latest_receipt`; `nil` if it equals the submitted receipt, or is absent.
    package let latestReceipt: [UInt8]?

    package init(status: VerifyReceiptStatus, body: [UInt8], latestReceipt: [UInt8]?) {
        (self.status, self.body, self.latestReceipt) = (status, body, latestReceipt)
    }

    /// `nil` if the response is not a success, or its volatile fields cannot be restored later, for example because one
    /// of them occurs twice.
    ///
    /// - Parameter submitted: the receipt that the response belongs to, in canonical base64.
    package init?(_ answer: Answer, to submitted: [UInt8]) {
        guard answer.status.promisesReceipt,
            let response = try? ResponseDocument(answer.body)
        else { return nil }
        var replacements = ByteReplacements()
        var archivedReceipt: [UInt8]?
        var seen: Set<String> = []
        for field in VolatileFields.all(in: response) {
            guard seen.insert(field.name).inserted, let text = field.text.text(in: answer.body.span), !text.isEmpty
            else { return nil }
            if field.name == VolatileFields.latestReceipt, Array(text.utf8) != submitted {
                // A text that is not canonical base64 stays in the body.
                guard let bytes = Base64Text.decode(Array(text.utf8).span, .standard),
                    Base64Text.encode(bytes) == Array(text.utf8)
                else { continue }
                archivedReceipt = bytes
            }
            replacements.replace(field.text.range, with: [])
        }
        status = answer.status
        body = replacements.applied(to: answer.body)
        latestReceipt = archivedReceipt
    }

    package var size: Int { body.count + (latestReceipt?.count ?? 0) }
}

/// The fields whose values are removed from an archived response.
enum VolatileFields {
    /// The base64 of a receipt. It is removed because it is large and usually equals the submitted receipt.
    static let latestReceipt = "latest_receipt"
    /// These fields are in `receipt`. The responses to iOS 6 receipts do not have them.
    static let requestDates = ["request_date", "request_date_ms", "request_date_pst"]

    /// Returns the positions of the values, without their quotes.
    static func all(in response: ResponseDocument) -> [(name: String, text: JSONString)] {
        var fields: [(name: String, text: JSONString)] = []
        for (name, value) in response.root.members {
            switch name {
            case latestReceipt: fields += texts(of: [(name, value)])
            case "receipt": fields += texts(of: value.object?.members.filter { requestDates.contains($0.name) } ?? [])
            default: break
            }
        }
        return fields
    }

    private static func texts(
        of members: [(name: String, value: DocumentValue)]
    ) -> [(name: String, text: JSONString)] {
        members.compactMap { name, value in value.string.map { (name, $0) } }
    }
}

/// A list of replacements that are applied to a byte array in one pass.
struct ByteReplacements {
    private var replacements: [(range: Range<Int>, bytes: [UInt8])] = []

    /// Adds a replacement. The ranges of different replacements must not overlap.
    mutating func replace(_ range: Range<Int>, with bytes: [UInt8]) { replacements.append((range, bytes)) }

    func applied(to text: [UInt8]) -> [UInt8] {
        let replacements = replacements.sorted { $0.range.lowerBound < $1.range.lowerBound }
        var result: [UInt8] = []
        result.reserveCapacity(replacements.reduce(text.count) { $0 + $1.bytes.count - $1.range.count })
        var position = 0
        for replacement in replacements {
            result += text[position..<replacement.range.lowerBound]
            result += replacement.bytes
            position = replacement.range.upperBound
        }
        return result + text[position...]
    }
}
