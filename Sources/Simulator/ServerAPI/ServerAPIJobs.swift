import Base
import Synchronization

/// The jobs that callers of the Server API started and can ask about later.
final class ServerAPIJobs: Sendable {
    /// The result of an extension for all subscribers of a product.
    struct MassExtension: Sendable {
        let productId: String
        let completeDate: Timestamp
        let succeeded: Int64
        let failed: Int64
    }

    private struct Key: Hashable {
        let name: String
        let environment: AppStoreEnvironment
    }

    private struct Contents {
        var number: Int64 = 0
        var extensions: [Key: MassExtension] = [:]
        var notifications: [Key: Int] = [:]
    }

    private let contents = Mutex(Contents())

    /// Returns 1, 2, 3 and so on.
    func nextNumber() -> Int64 {
        contents.withLock {
            $0.number += 1
            return $0.number
        }
    }

    func massExtension(_ identifier: String, _ environment: AppStoreEnvironment) -> MassExtension? {
        contents.withLock { $0.extensions[Key(name: identifier, environment: environment)] }
    }

    func add(_ job: MassExtension, _ identifier: String, _ environment: AppStoreEnvironment) {
        contents.withLock { $0.extensions[Key(name: identifier, environment: environment)] = job }
    }

    /// Returns the index of a test notification in the log.
    func testNotification(_ token: String, _ environment: AppStoreEnvironment) -> Int? {
        contents.withLock { $0.notifications[Key(name: token, environment: environment)] }
    }

    func add(testNotification index: Int, _ token: String, _ environment: AppStoreEnvironment) {
        contents.withLock { $0.notifications[Key(name: token, environment: environment)] = index }
    }
}
