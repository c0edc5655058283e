import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// What a support person entered: recognized by its form alone.
enum CustomerQuestion: Sendable {
    case transactionId(String)
    case orderId(String)
    case accountToken(AccountToken)
    case receipt([UInt8])
    case signedText(String)

    /// Longest order id, in bytes.
    private static let maximumOrderId = 32

    init?(_ text: String) {
        // A text that was copied from a mail may contain line breaks.
        let plain = text.unicodeScalars.filter { !$0.properties.isWhitespace && $0 != "\u{FEFF}" }
        let compact = String(String.UnicodeScalarView(plain))
        let bytes = Array(compact.utf8)
        guard !bytes.isEmpty else { return nil }
        if TransactionIdentifier(rawValue: compact) != nil {
            self = .transactionId(compact)
        } else if let token = AccountToken(compact) {
            self = .accountToken(token)
        } else if bytes.count <= Self.maximumOrderId, bytes.allSatisfy(\.isASCIIAlphanumeric) {
            self = .orderId(compact.uppercased())
        } else if Self.isCompactJWS(bytes) {
            self = .signedText(compact)
        } else if bytes.count > Self.maximumOrderId, bytes.allSatisfy(Self.isBase64) {
            self = .receipt(bytes)
        } else {
            return nil
        }
    }

    /// A name for the log, which contains nothing of the text.
    var kind: String {
        switch self {
        case .transactionId: "transactionId"
        case .orderId: "orderId"
        case .accountToken: "accountToken"
        case .receipt: "receipt"
        case .signedText: "signedText"
        }
    }

    /// Whether the text has the form of a compact JWS: three parts, the first of which encodes `{"`.
    private static func isCompactJWS(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: Array("eyJ".utf8)) && bytes.count(where: { $0 == UInt8(ascii: ".") }) == 2
    }

    private static func isBase64(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || "+/=-_".utf8.contains(byte) }
}

/// The form of the customer page as a browser sends it: `application/x-www-form-urlencoded`.
struct CustomerForm: Sendable {
    /// What the support person entered. It may be a customer's receipt, so it is never logged or shown.
    let question: String
    let bundleId: String?
    let token: String?

    init?(_ body: [UInt8]) {
        var fields: [String: String] = [:]
        for field in FormText.Fields(of: body).prefix(16) {
            guard let name = FormText.text(field.name) else { return nil }
            fields[name] = FormText.text(field.value)
        }
        guard let question = fields["question"] else { return nil }
        self.question = question
        bundleId = fields["bundleId"].flatMap { $0.isEmpty ? nil : $0 }
        token = fields["token"]
    }

    /// A secret of this process that only pages of this server contain, so that no other page can send the form.
    static let currentToken: String = {
        var generator = SystemRandomNumberGenerator()
        return (0..<4).map { _ in String(generator.next(), radix: 36) }.joined(separator: "-")
    }()

    /// Whether a page of this server sent the form.
    var hasCurrentToken: Bool { token.map { ConstantTime.equal($0, Self.currentToken) } ?? false }
}
