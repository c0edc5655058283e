/// One verification with everything made ready before: digest and signature, nothing else. The least that OpenSSL can
/// do for an item, to measure the rest against.
package struct BenchmarkVerification: Sendable {
    private let context: VerificationContext
    private let signature: [UInt8]
    private let message: [UInt8]

    package init(
        key: VerifyingKey, signature: [UInt8], message: [UInt8], digest: DigestAlgorithm
    ) throws(CryptographyError) {
        context = try key.makeContext(digest)
        self.signature = signature
        self.message = message
    }

    /// False where the signature does not hold. For one thread at a time.
    package func run() -> Bool {
        (try? context.holds(signature.span, over: message.span)) ?? false
    }
}
