import ReceiptDecoding
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
