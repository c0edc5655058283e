package import Foundation
import JSONReading
package import StoreTypes

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
    package let latestReceipt: Data?

    /// Maximum number of JSON values in a response. A response with 20,000 purchases has about 300,000.
    static let maximumValues = 1_000_000

    /// Creates the value from an archived row.
    package init(status: VerifyReceiptStatus, body: [UInt8], latestReceipt: Data?) {
        self.status = status
        self.body = body
        self.latestReceipt = latestReceipt
    }

    /// Creates the archived form of a response. Returns `nil` if the response is not a success, or its volatile
    /// fields cannot be restored later, for example because one of them occurs twice.
    ///
    /// - Parameters:
    /// - answer: Apple's response, byte for byte. - submitted: the receipt that the response belongs to, in canonical
    /// base64.
    package init?(_ answer: VerifyReceiptAnswer, to submitted: [UInt8]) {
        guard answer.status == .valid || answer.status == .subscriptionExpired,
            let outline = try? JSONOutline(answer.body, maximumNodes: Self.maximumValues)
        else { return nil }
        var splices = ByteReplacements()
        var kept: Data?
        var seen: Set<String> = []
        for place in VolatileFields.all(in: outline) {
            guard seen.insert(place.name).inserted, let text = place.text.text(in: answer.body.span), !text.isEmpty
            else { return nil }
            if place.name == VolatileFields.latestReceipt, Array(text.utf8) != submitted {
                // A text that is not canonical base64 stays in the body.
                guard let data = Data(base64Encoded: text), data.base64EncodedString() == text else { continue }
                kept = data
            }
            splices.replace(place.text.range, with: [])
        }
        status = answer.status
        body = splices.applied(to: answer.body)
        latestReceipt = kept
    }

    /// The memory size in bytes.
    package var size: Int { body.count + (latestReceipt?.count ?? 0) }
}

/// The fields whose values are removed from an archived response.
enum VolatileFields {
    static let latestReceipt = "latest_receipt"
    /// These fields are in `receipt`. The responses to iOS 6 receipts do not have them.
    static let requestDates = ["request_date", "request_date_ms", "request_date_pst"]

    /// Returns the positions of the values, without their quotes.
    static func all(in outline: JSONOutline) -> [(name: String, text: JSONString)] {
        var places: [(name: String, text: JSONString)] = []
        for member in outline.children(of: 0) {
            switch outline.name(member) {
            case latestReceipt:
                if case .string(let text) = outline.nodes[member].value { places.append((latestReceipt, text)) }
            case "receipt" where outline.isObject(member):
                for date in outline.children(of: member) {
                    guard let name = outline.name(date), requestDates.contains(name),
                        case .string(let text) = outline.nodes[date].value
                    else { continue }
                    places.append((name, text))
                }
            default: break
            }
        }
        return places
    }
}
