import ReceiptBridgeBase
import ReceiptBridgeReceipts
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// Decoders that trust the test roots. They are shared, so that each certificate chain is verified only once.
enum Decoders {
    private static let strict = Result { try MintedReceipts.decoder(.apple) }
    private static let lenient = Result { try MintedReceipts.decoder(.tolerant) }
    private static let withoutIntermediates = Result { try MintedReceipts.decoder(.apple, knowsAuthorities: false) }

    static var apple: ReceiptDecoder { get throws { try strict.get() } }
    static var tolerant: ReceiptDecoder { get throws { try lenient.get() } }
    /// A decoder whose trust store contains no intermediate certificates, so that they must be in the receipt.
    static var withoutAuthorities: ReceiptDecoder { get throws { try withoutIntermediates.get() } }
}

extension ReceiptDecoder {
    /// Decodes a receipt from its bytes, which are encoded in the base64 form that Apple writes.
    func decode(bytes: [UInt8]) throws(ReceiptDecodingError) -> Receipt {
        try decode(MintedReceipts.base64(bytes).span)
    }

    /// Returns the error for which a receipt is rejected; `nil` if it is accepted.
    func refusal(of bytes: [UInt8]) -> ReceiptDecodingError? { refusal(ofText: MintedReceipts.base64(bytes)) }

    func refusal(ofText text: [UInt8]) -> ReceiptDecodingError? {
        do throws(ReceiptDecodingError) {
            _ = try decode(text.span)
            return nil
        } catch {
            return error
        }
    }
}

/// What other software makes of a receipt, and the repairs that are reported for it.
struct Shape: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let repairs: [ReceiptRepair]
    /// Whether it is only for App Receipts, because the base64 of a property list may contain nothing to change.
    var onlyApp = false
    /// Whether the tolerant profile does not look for it, because other text is around the receipt.
    var isEmbedded = false
    let wrap: @Sendable (_ bytes: [UInt8], _ text: String) throws -> [UInt8]

    static func bytes(
        _ name: String, _ repairs: [ReceiptRepair], onlyApp: Bool = false,
        _ wrap: @escaping @Sendable (_ bytes: [UInt8], _ text: String) -> [UInt8]
    ) -> Shape { Shape(testDescription: name, repairs: repairs, onlyApp: onlyApp, wrap: wrap) }

    static func text(
        _ name: String, _ repairs: [ReceiptRepair],
        _ wrap: @escaping @Sendable (_ bytes: [UInt8], _ text: String) throws -> String
    ) -> Shape { Shape(testDescription: name, repairs: repairs) { Array(try wrap($0, $1).utf8) } }

    static func marks(
        _ name: String, _ repairs: [ReceiptRepair], isEmbedded: Bool = false,
        _ mark: @escaping @Sendable (String) -> String
    ) -> Shape {
        Shape(testDescription: name, repairs: repairs, isEmbedded: isEmbedded) { Array(mark($1).utf8) }
    }

    /// A forged receipt in this shape.
    func forged() throws -> [UInt8] {
        let bytes = try Self.forged(ReceiptInputTests.Samples.shared.app)
        return try wrap(bytes, Base64.encode(bytes))
    }

    /// Changes the name of a signed product.
    static func forged(_ bytes: [UInt8]) throws -> [UInt8] {
        var bytes = bytes
        let name = try #require(bytes.firstRange(of: Array("com.example.app.monthly".utf8)))
        bytes[name.upperBound - 1] ^= 1
        return bytes
    }
}

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

/// Returns the result of `body` and the time it takes. Limits on the time must be far above the usual values, because
/// tests also run in debug builds on busy machines.
func timed<Outcome>(_ body: () throws -> Outcome) rethrows -> (outcome: Outcome, elapsed: Duration) {
    let clock = ContinuousClock()
    let start = clock.now
    let outcome = try body()
    return (outcome, clock.now - start)
}
