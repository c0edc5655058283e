/// A delivery that is due and not leased.
package struct DueDelivery: Sendable, Hashable {
    package let id: Int64
    /// The subscription or purchase that the notification is about; `nil` if it is about none.
    package let subject: String?

    package init(id: Int64, subject: String?) {
        self.id = id
        self.subject = subject
    }
}

/// Which of the due deliveries to a target may be sent now. Of deliveries about one purchase only one at a time is in
/// flight, the one that was stored first, so that they are not reordered without need.
package enum ClaimSelection {
    /// Number of due deliveries that are searched for those that may be sent. Many more than are claimed at once,
    /// because a customer can have several.
    package static func window(_ limit: Int) -> SQLValue { .integer(Int64(max(256, limit))) }

    /// Returns the ids of at most `limit` deliveries to claim, in the order of `due`: those that have waited longest
    /// first. Two that were stored at almost the same time may be in any order, because each has the time at which it
    /// was received. The leased subjects are the purchases of deliveries that are in flight.
    package static func ids(of due: [DueDelivery], leasedSubjects: Set<String>, limit: Int) -> [Int64] {
        var first: [String: Int64] = [:]
        for delivery in due {
            if let subject = delivery.subject { first[subject] = min(first[subject] ?? .max, delivery.id) }
        }
        return Array(
            due.lazy.filter { delivery in
                guard let subject = delivery.subject else { return true }
                return first[subject] == delivery.id && !leasedSubjects.contains(subject)
            }.map(\.id).prefix(limit))
    }
}
