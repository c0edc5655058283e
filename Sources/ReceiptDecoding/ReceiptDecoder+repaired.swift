extension ReceiptDecoder {
    /// Returns the bytes of a receipt in the base64 form that Apple writes, with every repair of the `tolerant`
    /// profile applied; `nil` if no receipt can be recovered.
    ///
    /// The receipt is not authenticated. This is for input from people and scripts that is going to be sent to a
    /// server.
    package static func repaired(_ text: borrowing Span<UInt8>) -> [UInt8]? {
        guard let intake = try? ReceiptInput(text, profile: .tolerant) else { return nil }
        switch intake.kind {
        case .appReceipt, .transactionReceipt: return Base64.encode(intake.bytes)
        case .jws, .unknown: return nil
        }
    }
}
