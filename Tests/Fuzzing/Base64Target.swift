import AppStore
import Pipeline
@testable import ReceiptDecoding
import StoreTypes

/// The text of a receipt, in whatever state: both profiles, and what a migration makes of it.
enum Base64Target {
    private static let strict = ReceiptDecoder(trust: FuzzTrust.seeds, profile: .apple)
    private static let lenient = ReceiptDecoder(trust: FuzzTrust.seeds, profile: .tolerant)
    private static let reader = ReceiptReader(trust: FuzzTrust.seeds, now: { Rendered.now })

    static func run(_ text: [UInt8]) {
        if let intake = try? ReceiptInput(text.span, profile: .apple), intake.kind != .unknown {
            let repaired = try? ReceiptInput(text.span, profile: .tolerant)
            require(repaired?.kind == intake.kind, "what the apple profile takes, the tolerant one takes")
            require(repaired?.bytes == intake.bytes, "both read the same bytes")
        }
        if let repaired = ReceiptDecoder.repaired(text.span) {
            require(ReceiptDecoder.repaired(repaired.span) == repaired, "what was mended stays as it is")
            let intake = try? ReceiptInput(repaired.span, profile: .apple)
            require(intake?.isCanonicalText == true, "what was mended is as Apple writes it")
        }
        if let bytes = Base64.decode(text.span) {
            require(Base64.isCanonical(text.span) == (Base64.encode(bytes) == text), "canonical text is what we write")
            if let other = Base64Text.decode(text.span, .standard) {
                require(other == bytes, "two decoders, one meaning")
            }
        } else {
            require(Base64Text.decode(text.span, .standard) == nil, "the stricter decoder takes no more")
        }
        let (one, other) = (strict.inspect(text.span), lenient.inspect(text.span))
        require(!one.isVerified || other.isVerified, "tolerance loses nothing")
        _ = strict.claims(of: text.span)
        let stored = reader.read(text)
        require(stored.isVerified == other.isVerified, "a stored receipt is the receipt")
    }
}
