import Base

/// The jobs that callers of the Server API started and can ask about later.
struct ServerAPIJobs: Sendable {
    /// Name and environment of a job.
    struct Key: Hashable {
        let name: String
        let environment: AppStoreEnvironment
    }

    private var number: Int64 = 0
    /// Extensions for all subscribers of a product, and when they were complete.
    var extensions: [Key: (summary: SimulatedNotification.ExtensionSummary, date: Timestamp)] = [:]
    /// Indices of test notifications in the log.
    var testNotifications: [Key: Int] = [:]

    /// Returns 1, 2, 3 and so on.
    mutating func nextNumber() -> Int64 {
        number += 1
        return number
    }
}
