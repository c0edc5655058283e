import ReceiptDecoding
import StoreTypes

/// Whether a receipt that was refused would have been taken by `profile: tolerant`: what an operator wants to know whose
/// old app versions mangle theirs. Looks at few of them a second and at none that is long, so that refusing stays cheap.
struct RepairSampler: Sendable {
    /// Bytes of text; a receipt of 400 purchases.
    private static let maximumTextBytes = 256 << 10
    private static let perSecond = 10

    private let decoder: ReceiptDecoder
    private let counts: ProxyMetrics
    private let allowance = TokenBucket(limit: perSecond)

    /// Nil where receipts are mended anyway.
    init?(decoder: ReceiptDecoder, counts: ProxyMetrics) {
        guard decoder.profile == .apple else { return nil }
        self.decoder = ReceiptDecoder(trust: decoder.trust, profile: .tolerant)
        self.counts = counts
    }

    func sample(at text: [UInt8], refusedFor error: ReceiptDecodingError, at now: Timestamp) {
        guard [.notBase64, .notAReceipt, .malformed, .trailingBytes].contains(error.code),
            text.count <= Self.maximumTextBytes, allowance.allows(at: now)
        else { return }
        let inspection = decoder.inspect(text.span)
        guard inspection.isVerified else { return }
        counts.wouldMend(inspection.repairs)
    }
}
