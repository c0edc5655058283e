/// Notifications of one type, and of one subtype if it has one. For example, `REFUND` or `DID_RENEW/BILLING_RECOVERY`.
package struct NotificationPattern: Sendable, Hashable {
    private let type: String
    private let subtype: String?

    /// Notifications of version 1 that version 2 has under another name.
    private static let renamed = ["DID_RECOVER": "DID_RENEW/BILLING_RECOVERY"]

    /// `nil` for a text that is no type: upper-case letters, digits and underscores, and perhaps a subtype after a
    /// slash.
    package init?(_ text: String) {
        let parts = (Self.renamed[text] ?? text).split(separator: "/", omittingEmptySubsequences: false)
        let isValid = parts.allSatisfy { part in
            !part.isEmpty && part.utf8.count <= 64
                && part.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
        }
        guard isValid, parts.count <= 2 else { return nil }
        type = String(parts[0])
        subtype = parts.count == 2 ? String(parts[1]) : nil
    }

    package func matches(type: String?, subtype: String?) -> Bool {
        self.type == type && (self.subtype == nil || self.subtype == subtype)
    }
}
