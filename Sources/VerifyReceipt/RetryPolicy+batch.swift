import Base
import Transport

extension RetryPolicy {
    /// The retries of commands and of batch work, which have more time than a request to a server.
    static let batch = RetryPolicy(
        maximumAttempts: 6, baseDelay: Duration.milliseconds(500).atTestSpeed(),
        maximumDelay: Duration.seconds(20).atTestSpeed())
}
