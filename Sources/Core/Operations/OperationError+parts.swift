import ReceiptBridgeAppStore
import ReceiptBridgeStorage

/// Maps the errors of the parts of an operation. No other place does.
extension OperationError {
    /// The `Retry-After` of a store that cannot be used, in seconds.
    private static let storeRetryAfter = 10

    init(_ error: any Error) {
        switch error {
        case let error as OperationError: self = error
        case let error as InvalidOperation: self.init(Code(error.kind), error.reason)
        case let error as StorageError:
            self.init(
                .storeUnavailable, "the store cannot be used at the moment (\(error.code.rawValue))",
                retryAfter: Self.storeRetryAfter)
        case let error as UpstreamError:
            if error.isFinal, !error.isUnknownTransaction, error.errorNumber != .accountNotFound {
                self.init(.rejected, "the App Store refused the request: \(error.errorNumber?.meaning ?? error.reason)")
            } else {
                self.init(error)
            }
        default: self.init(.upstreamFailed, "the operation failed")
        }
    }
}

extension OperationError.Code {
    fileprivate init(_ kind: InvalidOperation.Kind) {
        switch kind {
        case .input: self = .invalidInput
        case .consent: self = .consentMissing
        case .deadline: self = .deadlinePassed
        }
    }
}

extension UpstreamError {
    /// `true` if the App Store refused this request for a reason that stays.
    package var isFinal: Bool { code == .refused && !isTemporary && httpStatus != 429 }
}
