extension ReceiptDecoder {
    /// The bytes of a receipt in Apple's own base64, whatever state the text is in; nil where no receipt comes out.
    ///
    /// Nothing is authenticated: this is what a person or a script hands in, made fit to be sent.
    package static func repaired(_ text: borrowing Span<UInt8>) -> [UInt8]? {
        guard let intake = try? ReceiptInput(text, profile: .tolerant) else { return nil }
        switch intake.kind {
        case .appReceipt, .transactionReceipt: return Base64.encode(intake.bytes)
        case .jws, .unknown: return nil
        }
    }
}
