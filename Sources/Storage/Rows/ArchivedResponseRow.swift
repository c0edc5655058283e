package import ReceiptBridgeBase
package import Foundation

/// Apple's last good verifyReceipt response to a request, as stored.
package struct ArchivedResponseRow: Sendable, Hashable {
    /// A digest of the request: the first ``receiptDigestSize`` bytes depend on the receipt, the others on the rest.
    package let question: [UInt8]
    /// Apple's `status`: 0 or 21006.
    package let status: Int
    /// The response body, in which the texts that differ in every response are empty: the request dates and
    /// `latest_receipt`.
    package let body: [UInt8]
    /// The decoded `latest_receipt`; `nil` if it equals the submitted receipt, and if there is none.
    package let latestReceipt: Data?
    /// SHA-256 of ``body``. Equal for responses that differ only in the emptied texts.
    package let digest: [UInt8]
    /// Original transaction ids of the purchases in the response, which identify the customer.
    package let originals: [String]

    package init(
        question: [UInt8], status: Int, body: [UInt8], latestReceipt: Data?, digest: [UInt8], originals: [String]
    ) {
        (self.question, self.status, self.body) = (question, status, body)
        (self.latestReceipt, self.digest, self.originals) = (latestReceipt, digest, originals)
    }

    package static let receiptDigestSize = 32

    /// The size that is counted, in bytes: the values and 300 bytes for SQLite's overhead.
    package var size: Int {
        300 + body.count + (latestReceipt?.count ?? 0) + originals.reduce(0) { $0 + $1.utf8.count + 1 }
    }
}

/// The effect of storing a response.
package struct ArchiveChange: Sendable, Hashable {
    /// Growth of the archive in bytes; negative if it shrank.
    package let bytes: Int
    /// Digests of the same customer's requests whose responses were deleted to make room.
    package let deleted: [[UInt8]]

    package init(bytes: Int, deleted: [[UInt8]]) {
        self.bytes = bytes
        self.deleted = deleted
    }
}

/// An archived response that matches a request.
package struct ArchivedResponseMatch: Sendable {
    /// The app, and the environment that Apple answered from.
    package let scope: AppScope
    /// When Apple last returned this response.
    package let keptAt: Timestamp
    package let status: Int
    package let body: [UInt8]
    package let latestReceipt: Data?
}
