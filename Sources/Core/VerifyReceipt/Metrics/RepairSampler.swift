import ReceiptBridgeBase
import ReceiptBridgeReceipts
import Synchronization

/// Measures how many refused receipts `profile: tolerant` would have accepted, for operators whose old app versions
/// mangle receipts. Only 10 receipts a second, and no large ones, are inspected, so that refusing a receipt stays
/// cheap.
struct RepairSampler: Sendable {
    /// Maximum length of the text that is inspected, in bytes. That is a receipt of about 400 purchases.
    private static let maximumTextBytes = 256 << 10
    private static let perSecond = 10

    private let decoder: ReceiptDecoder
    private let counts: ProxyMetrics
    private let rateLimit = FixedWindowLimit(perSecond: perSecond)

    init?(decoder: ReceiptDecoder, counts: ProxyMetrics) {
        guard decoder.profile == .apple else { return nil }
        self.decoder = ReceiptDecoder(trust: decoder.trust, profile: .tolerant)
        self.counts = counts
    }

    /// Skips an error that cannot be repaired, and a text that is too long.
    func sample(at text: [UInt8], refusedFor error: ReceiptDecodingError, at now: Timestamp) {
        guard [.notBase64, .notAReceipt, .malformed, .trailingBytes].contains(error.code),
            text.count <= Self.maximumTextBytes, rateLimit.allows(at: now)
        else { return }
        let inspection = decoder.inspect(text.span)
        guard inspection.isVerified else { return }
        // Once a kind.
        for repair in Set(inspection.repairs) { counts.repairs.add(repair) }
    }
}

/// A rate limit with a fixed window: at most so many events in each second of the clock. Unlike a token bucket it goes
/// on at once if the clock is set back.
private final class FixedWindowLimit: Sendable {
    private struct State {
        var second: Int64 = .min
        var count = 0
    }

    private let perSecond: Int
    private let state = Mutex(State())

    init(perSecond: Int) { self.perSecond = perSecond }

    func allows(at now: Timestamp) -> Bool {
        state.withLock { state in
            if state.second != now.seconds { state = State(second: now.seconds) }
            state.count += 1
            return state.count <= perSecond
        }
    }
}
