import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeStorage

/// The reason that a notification was rejected: a stable code, an HTTP status, and a message that contains nothing of
/// the notification.
///
/// The App Store retries after a 40x or 50x response, but since 2026 it has been observed to stop after 400. So errors
/// on this side, errors that may not occur again an hour later, and what a later version may be able to read of a
/// sender with the right password, are always 503.
///
/// -
/// https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications
package struct NotificationRejection: Error, Sendable, Hashable, CustomStringConvertible {
    /// The codes, as senders see them.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// The body is neither a version 2 nor a version 1 notification.
        case malformedNotification
        /// A signature is missing or invalid, or one of the nested parts is not authentic.
        case notAuthentic
        /// Authentic, but a nested part names another app or environment than the notification. The App Store signed
        /// both, so the configuration or this version is wrong about what belongs together.
        case nestedItemMismatch
        /// Authentic, but of an app that is not configured, or with another `appAppleId`.
        case unknownApp
        /// Signed for a developer's own machine.
        case wrongEnvironment
        /// Version 1, for an app without a shared secret to check the password against.
        case noSharedSecret
        /// Version 1, and the password is not one of the app's shared secrets.
        case wrongPassword
        /// Version 1, without a transaction id and without a receipt that has one.
        case noTransactionId
        /// Version 1 with the right password, but its app or its environment cannot be read.
        case unreadableNotification
        /// Version 1, and the sender exceeded the rate limit.
        case tooManyRequests
        /// The signing date, or the begin of the validity of the certificates, is in the future: this machine's clock
        /// is wrong, because the App Store's is not.
        case signedInFuture
        /// Authentic, but a member that decides has another type than documented, or names no environment of the App
        /// Store.
        case unexpectedType
        /// Authentic, but without a container that this version knows, or one that names a configured app.
        case unknownContainer
        /// Not decided: this system cannot verify signatures, or the signature has a form that this version does not
        /// know.
        case notVerifiable
        /// No store is configured.
        case noStore
        /// The store could not save the notification.
        case storeUnavailable

        /// The status of the HTTP response.
        package var httpStatus: Int {
            switch self {
            case .malformedNotification, .notAuthentic: 400
            case .unknownApp, .wrongEnvironment, .noSharedSecret, .wrongPassword: 403
            case .tooManyRequests: 429
            case .nestedItemMismatch, .noTransactionId, .unreadableNotification, .signedInFuture, .unexpectedType,
                .unknownContainer, .notVerifiable, .noStore, .storeUnavailable:
                503
            }
        }
    }

    /// The kind of rejection.
    package let code: Code
    /// A message for operators and senders.
    package let reason: String
    /// The value of the `Retry-After` header; `nil` if the time of a retry is not known.
    package let retryAfter: String?
    /// The error of a nested part that belongs elsewhere, for the log.
    let mismatch: SignedPayloadError?
    /// When the App Store signed a notification that only this server cannot receive; `nil` if it is not known.
    let signedAt: Timestamp?

    init(_ code: Code, _ reason: String) { self.init(code, reason, mismatch: nil) }

    private init(
        _ code: Code, _ reason: String, mismatch: SignedPayloadError?, signedAt: Timestamp? = nil,
        retryAfter: String? = nil
    ) {
        (self.code, self.reason, self.mismatch) = (code, reason, mismatch)
        (self.signedAt, self.retryAfter) = (signedAt, retryAfter)
    }

    /// A client exceeded the rate limit for version 1 notifications.
    init(tooManyUntil retryAfter: String) {
        self.init(
            .tooManyRequests,
            "rate limit for version 1 notifications of one client exceeded; retry after the time in Retry-After",
            mismatch: nil, retryAfter: retryAfter)
    }

    /// The notification is authentic, but this machine's clock is behind.
    init(signedInFuture date: Timestamp) {
        self.init(
            .signedInFuture, "the signing date is more than five minutes ahead of this machine's clock", mismatch: nil,
            signedAt: date)
    }

    /// Whether the notification is good and only this server is wrong, so that it is fetched from Apple's history when
    /// the server can take it.
    var isFetchedLater: Bool { [.storeUnavailable, .signedInFuture].contains(code) }

    /// Code and reason, for example `notAuthentic: signature: …`.
    package var description: String { "\(code.rawValue): \(reason)" }
}

extension NotificationRejection.Code: MetricLabel {}

extension NotificationRejection {
    init(_ error: SignedPayloadError) {
        if let date = error.validFrom {
            self.init(signedInFuture: date)
            return
        }
        let reason = "\(error.code.rawValue): \(error.place)"
        guard !error.isNested || !error.isMisplaced else {
            self.init(.nestedItemMismatch, "\(error.place): \(error.reason)", mismatch: error)
            return
        }
        switch (error.code, error.verdict) {
        case (.wrongKind, _) where error.isNested: self.init(.unexpectedType, "\(error.place): \(error.reason)")
        case (.wrongKind, _): self.init(.malformedNotification, error.reason)
        case (.unexpectedType, _): self.init(.unexpectedType, "\(error.place): \(error.reason)")
        case (.xcode, _): self.init(.wrongEnvironment, reason)
        case (_, .notOfThisKind): self.init(.malformedNotification, reason)
        case (_, .notJudged): self.init(.notVerifiable, reason)
        case (_, .misplaced): self.init(.unknownApp, reason)
        case (_, .forged): self.init(.notAuthentic, reason)
        }
    }

    /// - Parameter date: the signing date of the notification.
    init(_ error: StorageError, signedAt date: Timestamp? = nil) {
        self.init(
            .storeUnavailable, "the notification could not be stored: \(error.code.rawValue)", mismatch: nil,
            signedAt: date)
    }
}
