import ReceiptBridgeBase

extension EncodedJWS {
    /// The payload as it was signed, as JSON in one line; `nil` if it is not UTF-8 text of an object.
    package var payload: [UInt8]? {
        switch self {
        case .packed(let packed): packed.parts.isEmpty ? Self.line(packed.payload) : nil
        case .raw(let text): JWSParts.payload(of: text.utf8).flatMap(Self.line)
        case .damaged: nil
        }
    }

    /// Whether the payloads of two versions of a record differ in more than the date of signing.
    package func differs(from other: EncodedJWS) -> Bool {
        guard let mine = payload, let others = other.payload else { return self != other }
        return Self.withoutSignedDate(mine) != Self.withoutSignedDate(others)
    }

    /// Replaces control characters, which JSON allows only as white space between its tokens.
    private static func line(_ payload: [UInt8]) -> [UInt8]? {
        guard payload.first == UInt8(ascii: "{"), payload.last == UInt8(ascii: "}"),
            String(validating: payload, as: UTF8.self) != nil
        else { return nil }
        return payload.contains { $0 < 0x20 } ? payload.map { $0 < 0x20 ? 0x20 : $0 } : payload
    }

    /// Removes the digits of the first `signedDate`.
    private static func withoutSignedDate(_ payload: [UInt8]) -> [UInt8] {
        let name = "\"signedDate\":".utf8
        guard let start = payload[...].start(of: name) else { return payload }
        let digits = payload[(start + name.count)...].prefix { (0x30...0x39).contains($0) }
        return Array(payload[..<digits.startIndex] + payload[digits.endIndex...])
    }
}

extension JWSParts {
    /// Returns the decoded payload of a compact JWS, which is its middle part; `nil` if the text is no JWS.
    static func payload(of text: some Collection<UInt8>) -> [UInt8]? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let segment = Array(parts[1])
        return Base64Text.decode(segment.span, .urlSafe)
    }
}

extension TransactionRow {
    /// The payload for an event. If it cannot be read, only the ids.
    package func payload(_ text: EncodedJWS) -> [UInt8] {
        text.payload
            ?? Array(
                """
                {"transactionId":"\(transactionId)","originalTransactionId":"\(originalTransactionId)",\
                "signedDate":\(signedDate.milliseconds)}
                """.utf8)
    }
}

extension RenewalRow {
    /// The payload for an event. If it cannot be read, only the id.
    package func payload(_ text: EncodedJWS) -> [UInt8] {
        text.payload
            ?? Array(
                "{\"originalTransactionId\":\"\(originalTransactionId)\",\"signedDate\":\(signedDate.milliseconds)}"
                    .utf8)
    }
}
