import ReceiptDecoding
import StoreTypes
import TestSupport
import Testing

/// Decoders that trust the test roots, shared so that their chains are verified once.
enum Decoders {
    private static let strict = Result { try MintedReceipts.decoder(.apple) }
    private static let lenient = Result { try MintedReceipts.decoder(.tolerant) }
    private static let forgetful = Result { try MintedReceipts.decoder(.apple, knowsAuthorities: false) }

    static var apple: ReceiptDecoder { get throws { try strict.get() } }
    static var tolerant: ReceiptDecoder { get throws { try lenient.get() } }
    /// Knows no authorities but those that travel along.
    static var withoutAuthorities: ReceiptDecoder { get throws { try forgetful.get() } }
}

extension ReceiptDecoder {
    /// The receipt in these bytes, base64 as Apple writes it around them.
    func decode(bytes: [UInt8]) throws(ReceiptDecodingError) -> Receipt {
        try decode(MintedReceipts.base64(bytes).span)
    }

    /// Why the bytes are not accepted; nil where they are.
    func refusal(of bytes: [UInt8]) -> ReceiptDecodingError? {
        refusal(ofText: MintedReceipts.base64(bytes))
    }

    func refusal(ofText text: [UInt8]) -> ReceiptDecodingError? {
        do throws(ReceiptDecodingError) {
            _ = try decode(text.span)
            return nil
        } catch {
            return error
        }
    }
}

/// The App Receipt in a signed payload.
func appReceipt(_ bytes: [UInt8]) throws -> AppReceipt {
    guard case .app(let receipt) = try Decoders.apple.decode(bytes: bytes).contents else {
        throw ReceiptDecodingError(.notAReceipt, at: "test", "not an App Receipt")
    }
    return receipt
}

func transactionReceipt(_ bytes: [UInt8]) throws -> TransactionReceipt {
    guard case .transaction(let receipt) = try Decoders.apple.decode(bytes: bytes).contents else {
        throw ReceiptDecodingError(.notAReceipt, at: "test", "not a transactionReceipt")
    }
    return receipt
}

/// What the body gives, and how long it takes; for bounds far above what is usual, debug builds on busy machines
/// included.
func timed<Outcome>(_ body: () throws -> Outcome) rethrows -> (outcome: Outcome, elapsed: Duration) {
    let clock = ContinuousClock()
    let start = clock.now
    let outcome = try body()
    return (outcome, clock.now - start)
}
