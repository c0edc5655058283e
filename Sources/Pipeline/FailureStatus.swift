import AppStore
import ReceiptDecoding
import Rendering
import StoreTypes

extension ReceiptDecodingError {
    /// The one place where a decoding failure becomes a status; nil where another source must decide.
    var status: VerifyReceiptStatus? {
        switch verdict {
        case .notAReceipt: .malformedReceipt
        case .notAuthentic: .notAuthentic
        case .undecided: nil
        }
    }
}

extension ServerAPIError {
    /// What goes back where the Server API failed and no other source has an answer. The receipt is authentic: nothing
    /// here may say that it is not.
    func answer(in environment: AppStoreEnvironment) -> VerifyReceiptAnswer {
        if errorNumber == .accountNotFound { return .accountNotFound(environment: environment) }
        // Our key or our clock is wrong; Apple's own word for "cannot get at the data".
        if code == .unauthorized { return .failure(.internalDataAccess) }
        return .temporarilyUnavailable(isRetryable: true)
    }
}
