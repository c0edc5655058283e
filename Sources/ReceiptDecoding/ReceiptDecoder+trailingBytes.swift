extension ReceiptDecoder {
    /// Returns the authentic receipt before the trailing bytes because of which ``decode(_:)`` rejected the text;
    /// `nil` for any other error.
    ///
    /// Only the rules of an app use it: a parser that ignores trailing bytes would accept this receipt, so the rules
    /// must apply to it. No response is made from it, because the signature does not cover the trailing bytes.
    package func receiptBeforeTrailingBytes(
        of text: borrowing Span<UInt8>, refusedFor error: ReceiptDecodingError
    ) -> Receipt? {
        guard error.code == .trailingBytes else { return nil }
        return try? ReceiptDecoder(trust: trust, profile: .tolerant).decode(text)
    }
}
