package import Foundation
import JSONReading
package import StoreTypes

/// An answer of Apple's in the form in which it is kept: without what is new each time, and without what the client brings
/// again.
///
///     { "receipt": { …, "request_date": "", "request_date_ms": "", "request_date_pst": "", … },
///       "latest_receipt": "", "latest_receipt_info": [ … ], "pending_renewal_info": [ … ], "status": 0 }
///
/// The same purchases give the same bytes, whenever they are told.
package struct ArchivedResponse: Sendable, Hashable {
    /// 0 or 21006.
    package let status: VerifyReceiptStatus
    /// Apple's answer with some texts empty.
    package let body: [UInt8]
    /// `latest_receipt`, the bytes of the base64; nil where it is what the client submitted, or is not there.
    package let latestReceipt: Data?

    /// Values in an answer; one of 20,000 purchases has some 300,000.
    static let maximumValues = 1_000_000

    /// What was kept before.
    package init(status: VerifyReceiptStatus, body: [UInt8], latestReceipt: Data?) {
        self.status = status
        self.body = body
        self.latestReceipt = latestReceipt
    }

    /// Nil for what is no good answer, or not of the form that can be filled in again.
    ///
    /// - Parameters:
    ///   - answer: Apple's, byte for byte.
    ///   - submitted: the receipt that was asked about, in canonical base64.
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
                // What is no plain base64 stays where it is.
                guard let data = Data(base64Encoded: text), data.base64EncodedString() == text else { continue }
                kept = data
            }
            splices.replace(place.text.range, with: [])
        }
        status = answer.status
        body = splices.applied(to: answer.body)
        latestReceipt = kept
    }

    /// Bytes that it takes.
    package var size: Int { body.count + (latestReceipt?.count ?? 0) }
}

/// The texts that a kept answer is without.
enum VolatileFields {
    static let latestReceipt = "latest_receipt"
    /// In `receipt`; the answers of iOS 6 have none.
    static let requestDates = ["request_date", "request_date_ms", "request_date_pst"]

    /// Where they stand, quotes not included.
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
