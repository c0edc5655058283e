import AppStore
import Ledger

extension NotificationRejection {
    init(_ error: SignedPayloadError) {
        let place = "\(error.code.rawValue): \(error.place)"
        switch error.code {
        case .malformed: self.init(.malformedNotification, place)
        case .xcode: self.init(.wrongEnvironment, place)
        case .unavailable: self.init(.notVerifiable, place)
        // Parts of another app or environment are among these: they do not belong together.
        default: self.init(.notAuthentic, place)
        }
    }

    init(_ error: StorageError) {
        self.init(.storeUnavailable, "the notification could not be stored: \(error.code.rawValue)")
    }
}
