import ReceiptBridgeBase

/// What ``ReceiptFinder`` found in a text: the receipts and signed texts that are worth authenticating, or what the
/// text is instead.
struct ReceiptCandidates {
    /// Maximum number of receipts and signed texts in one text.
    static let maximumCount = 8

    struct Findings {
        /// The receipt or signed text that is most plausible, or the reason why nothing was found.
        let first: Result<ReceiptInput, ReceiptDecodingError>
        /// Other ones, in the order in which they are to be tried if the first is not authentic.
        let others: [ReceiptInput]

        init(_ first: Result<ReceiptInput, ReceiptDecodingError>, others: [ReceiptInput] = []) {
            (self.first, self.others) = (first, others)
        }
    }

    private struct Candidate {
        let input: ReceiptInput
        let plausibility: Plausibility
        let preference: Int

        /// Whether it is the beginning of a receipt, or of a property list with a signature.
        var isBeginning: Bool {
            switch input.kind {
            case .appReceipt: [0x80, 0x82, 0x83].contains(input.bytes[1])
            case .transactionReceipt: true
            case .jws, .unknown: false
            }
        }
    }

    /// Whether it is worth authenticating, by its structure alone.
    private enum Plausibility: Comparable {
        case receipt
        /// A signed text with the certificates of its signer, and with a transaction id or other signed texts in it.
        case transaction
        case signedText
        /// The beginning of a receipt, or a damaged one: only for the reason of the refusal.
        case fragment
        /// A signed text without certificates, and a handle of version 0.1.0: the same.
        case other
    }

    private var candidates: [Candidate] = []
    /// Members of purchases of other stores.
    var stores = StoreMarks()
    /// The error of a receipt with something else between its characters, whose parts are no receipts.
    var interruption: ReceiptDecodingError?
    /// The error that says most about what the text is.
    private var failure: ReceiptDecodingError?
    private var unknown: ReceiptInput?

    /// Returns what to authenticate, or why the text is no receipt.
    func findings(of text: [UInt8]) -> Findings {
        let sorted = candidates.enumerated().sorted {
            ($0.element.plausibility, $0.element.preference, $0.offset)
                < ($1.element.plausibility, $1.element.preference, $1.offset)
        }.map(\.element)
        let plausible = sorted.filter { $0.plausibility < .fragment }.map(\.input)
        let first: Result<ReceiptInput, ReceiptDecodingError>
        if let best = plausible.first {
            first = .success(best)
        } else if let failure, failure.code == .truncatedDescription {
            first = .failure(failure)
        } else if let interruption {
            first = .failure(interruption)
        } else if let fragment = sorted.first {
            first = .success(fragment.input)
        } else if let store = stores.store {
            first = .failure(store.error)
        } else if let failure, failure.code != .notBase64 {
            first = .failure(failure)
        } else if let shape = TextShape(text) {
            first = .failure(ReceiptDecodingError(.notAReceipt, at: "text", "\(shape.rawValue) instead of a receipt"))
        } else if let unknown {
            first = .success(unknown)
        } else {
            first = .failure(failure ?? ReceiptDecodingError(.notAReceipt, at: "text", "nothing in it is a receipt"))
        }
        return Findings(first, others: Array(plausible.dropFirst()))
    }

    /// The number of candidates that are worth authenticating.
    var plausibleCount: Int { candidates.count { $0.plausibility < .fragment } }

    /// Adds a receipt or a signed text; anything else is left out.
    mutating func add(_ input: ReceiptInput, _ path: ReceiptFinder.Path) {
        // The text itself is named by its kind, however damaged it is.
        let kept: Plausibility? = path.round == 0 && input.kind == .appReceipt ? .fragment : nil
        guard let plausibility = Self.plausibility(of: input) ?? kept,
            plausibility < .fragment || candidates.count < 2 * Self.maximumCount
        else { return }
        var input = input
        let own = input.repairs.filter { !path.repairs.contains($0) && !($0 == .rawBytes && path.isDecoded) }
        input.repairs = path.repairs + own
        candidates.append(Candidate(input: input, plausibility: plausibility, preference: path.preference))
    }

    private static func plausibility(of input: ReceiptInput) -> Plausibility? {
        switch input.kind {
        case .appReceipt:
            if (try? SignedData(ber: input.bytes.span)) != nil { return .receipt }
            let head = input.bytes.prefix(24)
            return head.count < 24 || head.firstRange(of: SignedData.signedDataType) != nil ? .fragment : nil
        case .transactionReceipt:
            if (try? TransactionReceiptBlob(input.bytes.span)) != nil { return .receipt }
            let isFragment = ["signature", "purchase-", "\"sig", "\"pur"].contains {
                input.bytes[...].start(of: $0.utf8) != nil
            }
            return isFragment ? .fragment : nil
        case .jws:
            let segments = input.bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            let claims = segments.prefix(2).map {
                Base64Text.decode(Array($0).span, .urlSafe).flatMap { try? JSONObject($0) }
            }
            guard let header = claims.first ?? nil, header.has("x5c") else { return .other }
            guard let payload = claims.last ?? nil else { return .signedText }
            return payload.has("originalTransactionId") || payload.has("notificationType") ? .transaction : .signedText
        case .unknown: return input.isHandle ? .other : nil
        }
    }

    mutating func note(_ error: ReceiptDecodingError) {
        func vagueness(_ code: ReceiptDecodingError.Code) -> Int {
            switch code {
            case .truncatedDescription: 0
            case .notBase64: 3
            case .notAReceipt: 2
            default: 1
            }
        }
        guard let failure, vagueness(failure.code) <= vagueness(error.code) else {
            self.failure = error
            return
        }
    }

    /// Notes a print that lacks bytes.
    mutating func noteLoss(_ reason: String) {
        note(ReceiptDecodingError(.truncatedDescription, at: "text", reason))
    }

    mutating func keep(unknown input: ReceiptInput) { unknown = unknown ?? input }

    /// The beginning of a receipt, whether it is complete or not; `nil` without one.
    var beginning: ReceiptInput? { candidates.first(where: \.isBeginning)?.input }
}
