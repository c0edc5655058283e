/// Why a notification was not taken: a stable code, a status for HTTP, a sentence with nothing of the notification in it.
///
/// The App Store sends again what was answered with 40x or 50x; since 2026 it has been seen to give up after 400. So what
/// is our own fault, and what may look different to us in an hour, is always 503.
///
/// https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications
package struct NotificationRejection: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds, by the names that senders see.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// Neither a body of version 2 nor one of version 1.
        case malformedNotification
        /// Not signed by the App Store, or not over this text, or not throughout.
        case notAuthentic
        /// Genuine, but of an app that is not configured, or one with another number.
        case unknownApp
        /// Of no environment that purchases are made in.
        case wrongEnvironment
        /// Version 1, of an app without a shared secret to tell it by.
        case noSharedSecret
        /// Version 1, with another password than the app's secret.
        case wrongPassword
        /// Version 1, without a transaction id and without a receipt that has one.
        case noTransactionId
        /// Version 1, and its sender sent too many.
        case tooManyRequests
        /// Signed in the future: one of two clocks is wrong, and it is not the App Store's.
        case signedInFuture
        /// This system cannot verify.
        case notVerifiable
        /// Nothing is remembered here.
        case noStore
        /// It could not be stored.
        case storeUnavailable

        /// The status of an HTTP answer.
        package var httpStatus: Int {
            switch self {
            case .malformedNotification, .notAuthentic, .noTransactionId: 400
            case .unknownApp, .wrongEnvironment, .noSharedSecret, .wrongPassword: 403
            case .tooManyRequests: 429
            case .signedInFuture, .notVerifiable, .noStore, .storeUnavailable: 503
            }
        }
    }

    /// What is wrong.
    package let code: Code
    /// For people.
    package let reason: String
    /// When the sender may try again, as `Retry-After` has it; `nil` if that is not known.
    package let retryAfter: String?

    /// A refusal of the given kind.
    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
        retryAfter = nil
    }

    /// Too many of version 1 from one client.
    init(tooManyUntil retryAfter: String) {
        code = .tooManyRequests
        reason = "too many notifications of version 1 from one client; wait, as Retry-After says"
        self.retryAfter = retryAfter
    }

    /// `notAuthentic: signature: …`
    package var description: String { "\(code.rawValue): \(reason)" }
}
