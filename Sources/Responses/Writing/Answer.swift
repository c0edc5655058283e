package import ReceiptBridgeBase

/// A complete verifyReceipt response: its status, and the JSON that is sent.
package struct Answer: Sendable, Hashable {
    package let status: VerifyReceiptStatus
    /// The JSON text in UTF-8.
    package let body: [UInt8]
    /// Whether this is a 21005 of ours, and not one that Apple returned.
    package private(set) var isOwnOutage = false

    /// `status` must be the one in the body.
    package init(status: VerifyReceiptStatus, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

extension Answer {
    /// Returns `{"environment":"Production","status":21004}`, which is a genuine body from Apple.
    package static func wrongSharedSecret(environment: AppStoreEnvironment) -> Self {
        failure(.wrongSharedSecret, environment: environment)
    }

    /// Returns `{"status":21005,"is_retryable":true,"is-retryable":true}`: a response of ours that asks the client to
    /// retry. It has both spellings of the member, because clients read one or the other.
    ///
    /// - Parameter status: the number in the body.
    package static func temporarilyUnavailable(as status: VerifyReceiptStatus = .temporarilyUnavailable) -> Self {
        let body = JSONWriter.object(reserving: 80) {
            $0.member("status", Int64(status.rawValue))
            $0.member("is_retryable", true)
            $0.member("is-retryable", true)
        }
        var answer = Self(status: status, body: body)
        answer.isOwnOutage = true
        return answer
    }

    /// `{"environment":"Production","status":21010,"is_retryable":false}`, which is a genuine body from Apple.
    package static func accountNotFound(environment: AppStoreEnvironment) -> Self {
        failure(.accountNotFound, environment: environment, isRetryable: false)
    }

    /// Returns an error response. Most contain only the status, for example `{"status":21002}`; Apple adds the other
    /// keys to some errors, in the order `environment`, `status`, `is_retryable`.
    package static func failure(
        _ status: VerifyReceiptStatus, environment: AppStoreEnvironment? = nil, isRetryable: Bool? = nil
    ) -> Self {
        let body = JSONWriter.object(reserving: 80) {
            $0.member("environment", ifPresent: environment?.rawValue)
            $0.member("status", Int64(status.rawValue))
            $0.member("is_retryable", ifPresent: isRetryable)
        }
        return Self(status: status, body: body)
    }
}
