import ReceiptBridgeBase
package import ReceiptBridgeCryptography

extension ReceiptDecoder {
    /// Prepares the one signature verification that ``decode(_:)`` performs for this receipt, so that a benchmark can
    /// measure it separately. Throws the same errors as `decode`.
    package func bareVerification(of text: borrowing Span<UInt8>) throws -> BenchmarkVerification {
        var input = try ReceiptInput(text, profile: profile)
        _ = try authenticatedContents(of: &input)
        switch input.kind {
        case .appReceipt:
            let container = try SignedData(ber: input.bytes.span)
            let signature = try container.signature.get()
            let (bytes, range) = container.content.location(in: input.bytes)
            let key = try signerKey(of: container, content: bytes.span.extracting(range), in: input.bytes.span)
            return try BenchmarkVerification(
                key: key, signature: input.bytes.span.copy(signature.signer.signature), message: bytes.span.copy(range),
                digest: signature.signer.digest)
        default:
            let blob = try TransactionReceiptBlob(input.bytes.span)
            let signature = try blob.signature.get()
            return try BenchmarkVerification(
                key: signerKey(of: blob), signature: signature.value, message: signature.message,
                digest: signature.digest)
        }
    }
}
