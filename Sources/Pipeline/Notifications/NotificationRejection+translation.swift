import AppStore
import Ledger

extension NotificationRejection {
    init(_ error: SignedPayloadError) {
        let reason = "\(error.code.rawValue): \(error.place)"
        switch error.code {
        case .malformed: self.init(.malformedNotification, reason)
        case .xcode: self.init(.wrongEnvironment, reason)
        case .unavailable: self.init(.notVerifiable, reason)
        // Includes parts that belong to another app or environment, because then the parts of the notification do not
        // match each other.
        default: self.init(.notAuthentic, reason)
        }
    }

    init(_ error: StorageError) {
        self.init(.storeUnavailable, "the notification could not be stored: \(error.code.rawValue)")
    }
}
