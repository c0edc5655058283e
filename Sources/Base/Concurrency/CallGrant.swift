/// The calls that were granted from a bucket that several servers of one app share.
package struct CallGrant: Sendable, Hashable {
    /// Number of granted calls, already counted in the bucket.
    package let count: Int64
    /// Number of whole calls left in the bucket.
    package let left: Int64
    /// If none was granted: the time until one may be granted.
    package let wait: Duration

    package init(count: Int64, left: Int64, wait: Duration) {
        (self.count, self.left, self.wait) = (count, left, wait)
    }
}
