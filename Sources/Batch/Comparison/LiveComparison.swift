import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore

/// Requests the data of a receipt from both of Apple's endpoints.
struct LiveComparison: Sendable {
    let verifyReceipt: BatchVerifyReceipt
    let serverAPI: ServerAPISource
    let now: @Sendable () -> Timestamp
    private let rejections = CredentialRejections()

    struct Answers: Sendable {
        let verifyReceipt: AppleResponse
        /// Records of the customer; `nil` if the App Store Server API does not know the customer.
        let serverAPI: CustomerRecords?
        /// Time after the verifyReceipt response.
        let time: Timestamp
        /// Milliseconds between the two responses.
        let timeDifference: Int64
    }

    /// Reason why no further receipt can be compared: Apple rejects a shared secret or a key, or a host cannot be
    /// reached. `nil` if there is none.
    var stop: RunStop? { rejections.reason.map { .refused($0) } }

    /// Requests the data of a receipt from both endpoints. Throws an error if one of them cannot respond now.
    func answers(to receipt: DecodedReceipt, bundleId: BundleIdentifier) async throws(RowFailure) -> Answers {
        let answer: AppleResponse
        do throws(BatchVerifyReceipt.Unavailable) {
            answer = try await verifyReceipt.answer(to: receipt)
        } catch {
            if error.isUnreachable { rejections.recordUnreachable("verifyReceipt", error.reason) }
            throw RowFailure("verifyReceiptUnavailable", isTemporary: true)
        }
        guard answer.status != .wrongSharedSecret else {
            rejections.recordRejectedSecret(of: bundleId)
            throw RowFailure("verifyReceipt.\(answer.status)", isTemporary: true)
        }
        let time = now()
        // Without an id there is nothing to look up. Whatever verifyReceipt has beyond the receipt is then a
        // difference.
        guard !receipt.lookupKeys.isEmpty else {
            return Answers(verifyReceipt: answer, serverAPI: nil, time: time, timeDifference: 0)
        }
        var records: CustomerRecords?
        do throws(UpstreamError) {
            records = try await serverAPI.records(
                for: receipt.lookupKeys, bundleId: bundleId, environment: receipt.environment)
            rejections.recordSuccess(of: bundleId)
        } catch {
            if error.code == .unauthorized || error.code == .privateKey {
                rejections.recordRejectedKey(of: bundleId, error)
            }
            if error.isUnreachable { rejections.recordUnreachable("the App Store Server API", "\(error)") }
            guard error.isUnknownTransaction || error.errorNumber == .accountNotFound else {
                throw RowFailure(error.shortCode, isTemporary: true)
            }
            rejections.recordSuccess(of: bundleId)
            // An unknown customer is a valid result, which differs from that of verifyReceipt.
        }
        return Answers(
            verifyReceipt: answer, serverAPI: records, time: time,
            timeDifference: now().milliseconds - time.milliseconds)
    }
}

/// Reason why a row could not be compared: a short code that failures are grouped by.
struct RowFailure: Error, Sendable, Hashable {
    /// For example, `verifyReceiptUnavailable`, `verifyReceipt.21004` or `4040010`.
    let code: String
    /// `true` if a retry may succeed.
    let isTemporary: Bool

    init(_ code: String, isTemporary: Bool = false) {
        self.code = code
        self.isTemporary = isTemporary
    }
}
