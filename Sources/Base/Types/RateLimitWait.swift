/// How long calls to the App Store Server API wait for a rate limit.
package struct RateLimitWait: Sendable, Hashable {
    /// Time until the first waiting call resumes.
    package let left: Duration
    /// `true` if Apple returned 429 and named the time, `false` for our own share of the hourly limits.
    package let isNamedByApple: Bool

    package init(left: Duration, isNamedByApple: Bool) {
        self.left = left
        self.isNamedByApple = isNamedByApple
    }
}
