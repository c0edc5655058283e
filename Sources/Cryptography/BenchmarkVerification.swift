/// One signature verification with key, context and input prepared in advance, for benchmarks.
///
/// ``run()`` does only the digest and the signature check, which is the least that OpenSSL can do for an item.
/// Benchmarks report other times relative to it.
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

    /// Returns `false` if the signature is invalid. Use an instance from one thread at a time.
    package func run() -> Bool {
        (try? context.holds(signature.span, over: message.span)) ?? false
    }
}
