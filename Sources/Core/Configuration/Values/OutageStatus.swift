package import ReceiptBridgeBase

/// How a client sees a 21005 of ours, the response if no source has one. The configuration key `outageStatus`.
///
/// Apple's own 21005 is never changed.
package enum OutageStatus: Sendable, Hashable, CustomStringConvertible {
    /// HTTP 200, with this number in the body: 21005, or 21100 to 21199.
    case status(VerifyReceiptStatus)
    /// HTTP 503 with `Retry-After`, and 21005 in the body.
    case serviceUnavailable

    /// Apple's number for a temporary fault.
    package static let standard = Self.status(.temporarilyUnavailable)
    static let values = "21005, 21100 to 21199, 503"

    package init?(_ text: String) {
        switch Int(text) {
        case 503: self = .serviceUnavailable
        case .some(let number) where number == 21005 || (21100...21199).contains(number):
            self = .status(VerifyReceiptStatus(rawValue: number))
        default: return nil
        }
    }

    package var bodyStatus: VerifyReceiptStatus {
        switch self {
        case .status(let status): status
        case .serviceUnavailable: .temporarilyUnavailable
        }
    }

    package var description: String {
        switch self {
        case .status(let status): "\(status)"
        case .serviceUnavailable: "503"
        }
    }
}
