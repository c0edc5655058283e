import AppStore
import ReceiptDecoding
import Rendering
import StoreTypes

extension ReceiptDecodingError {
    /// The status for a decoding failure; `nil` if another source must decide, for example because the issuer of the
    /// leaf certificate is unknown. No other place maps these failures.
    var status: VerifyReceiptStatus? {
        switch verdict {
        case .notAReceipt: .malformedReceipt
        case .notAuthentic: .notAuthentic
        case .undecided: nil
        }
    }
}

extension ServerAPIError {
    /// The response if the Server API failed and no other source has one. The receipt is authentic, so it never says
    /// the opposite.
    func answer(in environment: AppStoreEnvironment) -> VerifyReceiptAnswer {
        if errorNumber == .accountNotFound { return .accountNotFound(environment: environment) }
        // Our key or our clock is wrong. 21009 is the status that Apple returns for an internal data access error.
        if code == .unauthorized { return .failure(.internalDataAccess) }
        return .temporarilyUnavailable(isRetryable: true)
    }
}
