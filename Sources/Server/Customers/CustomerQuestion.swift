import AppStorePayloads
import Base
import Operations

/// What a support person entered: recognized by its form alone.
enum CustomerQuestion: Sendable {
    case transactionId(String)
    case orderId(String)
    case accountToken(AccountToken)
    case receipt([UInt8])
    /// A signed text of StoreKit, with the key of `POST /v1/receipts` that it belongs to.
    case signedText(String, key: SignedKey)

    /// The keys of `POST /v1/receipts` for signed texts.
    enum SignedKey: String {
        case signedTransaction, signedAppTransaction, signedRenewalInfo
    }

    /// Longest order id, in bytes.
    private static let maximumOrderId = 32

    /// Returns `nil` if the text is none of them.
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
        } else if bytes.count <= Self.maximumOrderId, bytes.allSatisfy(Self.isAlphanumeric) {
            self = .orderId(compact.uppercased())
        } else if Self.isCompactJWS(bytes) {
            self = .signedText(compact, key: Self.key(of: compact))
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

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    private static func isBase64(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || "+/=-_".utf8.contains(byte) }

    /// Looks at the payload, which is not verified, to choose the key. The signature is verified afterwards.
    private static func key(of text: String) -> SignedKey {
        let payload = text.split(separator: ".", omittingEmptySubsequences: false).dropFirst().first ?? ""
        let claims = Base64Text.decode(Array(payload.utf8).span, .urlSafe).flatMap { try? JSONObject($0) }
        return switch claims.flatMap({ SignedKind($0) }) {
        case .appTransaction: .signedAppTransaction
        case .renewal: .signedRenewalInfo
        case .transaction, .notification, .realTimeRequest, nil: .signedTransaction
        }
    }
}
