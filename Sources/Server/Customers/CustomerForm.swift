import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// The form of the customer page as a browser sends it: `application/x-www-form-urlencoded`.
struct CustomerForm: Sendable {
    /// What the support person entered. It may be a customer's receipt, so it is never logged or shown.
    let question: String
    let bundleId: String?
    let token: String?

    init?(_ body: [UInt8]) {
        var fields: [String: String] = [:]
        for field in body.split(separator: UInt8(ascii: "&"), maxSplits: 16) {
            guard let equals = field.firstIndex(of: UInt8(ascii: "=")), let name = FormText.text(field[..<equals]),
                let value = FormText.text(field[(equals + 1)...])
            else { return nil }
            fields[name] = value
        }
        guard let question = fields["question"] else { return nil }
        self.question = question
        bundleId = fields["bundleId"].flatMap { $0.isEmpty ? nil : $0 }
        token = fields["token"]
    }

    // MARK: - Token

    /// A secret of this process that only pages of this server contain, so that no other page can send the form.
    static let currentToken: String = {
        var generator = SystemRandomNumberGenerator()
        return (0..<4).map { _ in String(generator.next(), radix: 36) }.joined(separator: "-")
    }()

    /// Whether a page of this server sent the form.
    var hasCurrentToken: Bool { token.map { ConstantTime.equal($0, Self.currentToken) } ?? false }
}
