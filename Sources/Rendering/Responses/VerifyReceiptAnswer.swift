package import StoreTypes

/// A whole answer: the number in it, and the JSON as it goes out.
package struct VerifyReceiptAnswer: Sendable, Hashable {
    /// The `status` in ``body``.
    package let status: VerifyReceiptStatus
    /// UTF-8.
    package let body: [UInt8]

    /// An answer whose body is at hand; `status` must be the one in it.
    package init(status: VerifyReceiptStatus, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

extension VerifyReceiptAnswer {
    /// `{"status":21002}`: most errors have nothing else.
    package static func failure(_ status: VerifyReceiptStatus) -> Self {
        failure(status, environment: nil, isRetryable: nil)
    }

    /// `{"environment":"Production","status":21004}`: a genuine body of Apple's.
    package static func wrongSharedSecret(environment: AppStoreEnvironment) -> Self {
        failure(.wrongSharedSecret, environment: environment, isRetryable: nil)
    }

    /// `{"status":21005}`, with `"is_retryable":true` where the caller knows that the same request can succeed.
    package static func temporarilyUnavailable(isRetryable: Bool = false) -> Self {
        failure(.temporarilyUnavailable, environment: nil, isRetryable: isRetryable ? true : nil)
    }

    /// `{"environment":"Production","status":21010,"is_retryable":false}`: a genuine body of Apple's.
    package static func accountNotFound(environment: AppStoreEnvironment) -> Self {
        failure(.accountNotFound, environment: environment, isRetryable: false)
    }

    /// An error with the keys that Apple gives some of them: `environment`, `status`, `is_retryable`, in this order.
    package static func failure(
        _ status: VerifyReceiptStatus, environment: AppStoreEnvironment?, isRetryable: Bool?
    ) -> Self {
        var writer = JSONWriter(reserving: 80)
        writer.beginObject()
        if let environment {
            writer.key("environment")
            writer.value(environment.rawValue)
        }
        writer.key("status")
        writer.value(Int64(status.rawValue))
        if let isRetryable {
            writer.key("is_retryable")
            writer.value(isRetryable)
        }
        writer.endObject()
        return Self(status: status, body: writer.finish())
    }
}
