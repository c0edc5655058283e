extension ReceiptDecoder {
    /// The authentic receipt in front of bytes for which ``decode(_:)`` refused the text; nil for any other refusal.
    ///
    /// For an app's rules alone: a reader that ignores such bytes sees this receipt. They are in no signature, so no answer
    /// is made of it.
    package func receiptBeforeTrailingBytes(
        of text: borrowing Span<UInt8>, refusedFor error: ReceiptDecodingError
    ) -> Receipt? {
        guard error.code == .trailingBytes else { return nil }
        return try? ReceiptDecoder(trust: trust, profile: .tolerant).decode(text)
    }
}
