import ReceiptBridgeBase

/// The bytes of a receipt, extracted from the submitted text, and the repairs that were necessary.
struct ReceiptInput: Sendable {
    var kind: ReceiptKind
    /// The decoded bytes; for a JWS, its text.
    var bytes: [UInt8]
    /// The repairs in the order in which they were applied; always empty for a canonical text.
    var repairs: [ReceiptRepair]

    /// Maximum size of the text in bytes. It is above Apple's limit of 3,145,728, so that larger receipts can still
    /// be inspected.
    static let maximumTextSize = 8 << 20

    init(_ text: borrowing Span<UInt8>, profile: ReceiptProfile) throws(ReceiptDecodingError) {
        guard text.count <= Self.maximumTextSize else { throw Self.tooLarge }
        if !text.isEmpty, let bytes = Base64Text.decode(text, .receipt), !bytes.isEmpty {
            let kind = Self.kind(of: bytes)
            if profile == .apple || ReceiptExtent.isWhole(bytes, kind) {
                self.init(kind: kind, bytes: bytes, repairs: [])
                return
            }
        }
        switch profile {
        case .apple: self = try Self.appleLenience(text)
        case .tolerant: self = try ReceiptRepairer.repair(text.copy(0..<text.count))
        case .stored: self = try ReceiptFinder.find(in: text.copy(0..<text.count)).first.get()
        }
    }

    /// Finds the receipts in a text, of which a stored one may contain several.
    static func findings(in text: borrowing Span<UInt8>, profile: ReceiptProfile) -> ReceiptCandidates.Findings {
        do throws(ReceiptDecodingError) {
            guard profile == .stored else {
                return ReceiptCandidates.Findings(.success(try ReceiptInput(text, profile: profile)))
            }
            guard text.count <= maximumTextSize else { throw tooLarge }
            // Almost every stored text is one receipt as Apple writes it.
            if let bytes = Base64Text.decode(text, .receipt), case let kind = Self.kind(of: bytes),
                ReceiptExtent.isWhole(bytes, kind)
            {
                return ReceiptCandidates.Findings(.success(ReceiptInput(kind: kind, bytes: bytes, repairs: [])))
            }
            return ReceiptFinder.find(in: text.copy(0..<text.count))
        } catch {
            return ReceiptCandidates.Findings(.failure(error))
        }
    }

    private static let tooLarge = ReceiptDecodingError(.tooLarge, at: "text", "more than \(maximumTextSize) bytes")

    /// Whether this is a handle of version 0.1.0, which begins with its version.
    var isHandle: Bool { bytes.starts(with: Array("rb1.".utf8)) }

    init(kind: ReceiptKind, bytes: [UInt8], repairs: [ReceiptRepair]) {
        self.kind = kind
        self.bytes = bytes
        self.repairs = repairs
    }

    /// Apple's endpoint rejects App Receipts with line breaks but accepts transactionReceipts with them.
    private static func appleLenience(_ text: borrowing Span<UInt8>) throws(ReceiptDecodingError) -> ReceiptInput {
        guard !text.isEmpty else { throw ReceiptDecodingError(.empty, at: "text", "the text is empty") }
        let stripped = text.copy(0..<text.count).filter { !ReceiptRepairer.isWhiteSpace($0) }
        if let bytes = Base64Text.decode(stripped.span, .receipt), kind(of: bytes) == .transactionReceipt {
            return ReceiptInput(kind: .transactionReceipt, bytes: bytes, repairs: [.whitespace])
        }
        if isCompactJWS(stripped) {
            throw ReceiptDecodingError(.signedTransaction, at: "text", "a signed transaction instead of a receipt")
        }
        throw ReceiptDecodingError(.notBase64, at: "text", "not base64 in the form that Apple's endpoint accepts")
    }

    /// Determines the kind by the first significant byte: the tag of a SEQUENCE, or the opening brace of a property
    /// list.
    static func kind(of bytes: [UInt8]) -> ReceiptKind {
        guard let first = bytes.first(where: { !ReceiptRepairer.isWhiteSpace($0) }) else { return .unknown }
        if bytes[0] == 0x30, bytes.count > 1, bytes[1] & 0x80 != 0 { return .appReceipt }
        if first == UInt8(ascii: "{"), !looksLikeJSON(bytes) { return .transactionReceipt }
        return .unknown
    }

    /// Returns whether the text begins with `{"key":`; a property list begins with `{"key" =`.
    private static func looksLikeJSON(_ bytes: [UInt8]) -> Bool {
        var quotes = 0
        for byte in bytes.prefix(512) {
            if byte == UInt8(ascii: "\"") { quotes += 1 }
            if quotes >= 2 || quotes == 0 {
                if byte == UInt8(ascii: "=") { return false }
                if byte == UInt8(ascii: ":") { return true }
            }
        }
        return false
    }

    /// Returns whether the text has the form of a compact JWS: it begins with the base64url of `{"` and has two dots.
    static func isCompactJWS(_ text: some BidirectionalCollection<UInt8>) -> Bool {
        text.starts(with: "eyJ".utf8) && text.count { $0 == UInt8(ascii: ".") } == 2
    }
}
