import AppStore
package import Pipeline
package import StoreTypes

/// Both of Apple's interfaces, asked about one receipt.
package struct LiveComparison: Sendable {
    private let verifyReceipt: BatchVerifyReceiptClient
    private let serverAPI: BatchServerAPIClient
    private let refusals = CredentialRejections()
    private let now: @Sendable () -> Timestamp

    package init(
        verifyReceipt: BatchVerifyReceiptClient, serverAPI: BatchServerAPIClient,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        self.verifyReceipt = verifyReceipt
        self.serverAPI = serverAPI
        self.now = now
    }

    /// What both say of a receipt, moments apart.
    struct Answers: Sendable {
        let verifyReceipt: UpstreamResponse
        /// Nil where it knows nobody.
        let serverAPI: CustomerRecords?
        /// When verifyReceipt had answered.
        let time: Timestamp
        /// Milliseconds from the one answer to the other.
        let timeDifference: Int64
    }

    /// Why no more receipts can be compared: Apple refuses a shared secret or a key, or cannot be reached; nil if none of it.
    var refusal: String? { refusals.reason }

    func handles(_ bundleId: BundleIdentifier) -> Bool { serverAPI.handles(bundleId) }

    /// Calls to the App Store Server API that were made.
    package var calls: Int64 { serverAPI.calls }

    /// How long until the first call that waits for a rate limit goes on; nil if none waits.
    package var rateLimitWait: Duration? { serverAPI.rateLimitWait }

    /// - Throws: why one of them has no answer now.
    func answers(to receipt: DecodedReceipt, bundleId: BundleIdentifier) async throws(RowFailure) -> Answers {
        let answer: UpstreamResponse
        do throws(BatchVerifyReceiptClient.Unavailable) {
            answer = try await verifyReceipt.answer(to: receipt)
        } catch {
            if error.isUnreachable { refusals.noteUnreachable("verifyReceipt", error.reason) }
            throw RowFailure("verifyReceiptUnavailable", isTemporary: true)
        }
        guard answer.status != .wrongSharedSecret else {
            refusals.noteSecret(of: bundleId)
            throw RowFailure("verifyReceipt.\(answer.status)", isTemporary: true)
        }
        let time = now()
        // Without a single id nobody can be asked about: what verifyReceipt knows beyond the receipt is a difference.
        guard !receipt.lookupKeys.isEmpty else {
            return Answers(verifyReceipt: answer, serverAPI: nil, time: time, timeDifference: 0)
        }
        var records: CustomerRecords?
        do throws(ServerAPIError) {
            records = try await serverAPI.records(
                for: receipt.lookupKeys, bundleId: bundleId, environment: receipt.environment)
            refusals.noteSuccess(of: bundleId)
        } catch {
            if error.code == .unauthorized || error.code == .privateKey { refusals.noteKey(of: bundleId, error) }
            if error.isUnreachable { refusals.noteUnreachable("the App Store Server API", "\(error)") }
            guard error.isUnknownTransaction || error.errorNumber == .accountNotFound else {
                let code = error.errorNumber.map { "\($0)" } ?? error.code.rawValue
                throw RowFailure(code, isTemporary: true)
            }
            refusals.noteSuccess(of: bundleId)
            // That the App Store Server API knows nobody is its answer, and differs from verifyReceipt's.
        }
        return Answers(
            verifyReceipt: answer, serverAPI: records, time: time,
            timeDifference: now().milliseconds - time.milliseconds)
    }
}

/// Why a row could not be compared: a short code, the same for equal reasons.
struct RowFailure: Error, Sendable, Hashable {
    let code: String
    /// Another run may have better luck.
    let isTemporary: Bool

    init(_ code: String, isTemporary: Bool = false) {
        self.code = code
        self.isTemporary = isTemporary
    }
}
