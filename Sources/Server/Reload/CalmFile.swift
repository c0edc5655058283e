import ReceiptBridgeBase
import ReceiptBridgeCore
package import Foundation

/// A file that someone may be writing at this moment. The first half of a configuration can be a valid one.
package struct CalmFile: Sendable {
    /// Time for which the file must not have changed before it is read.
    private static let calm = Duration.seconds(1).atTestSpeed(atLeast: .milliseconds(100))
    private static let maximumReads = 30

    private let changedAt: @Sendable () -> Date?
    private let now: @Sendable () -> Date
    private let sleep: @Sendable (Duration) async throws -> Void

    /// - Parameter changedAt: Returns when the file was last changed; `nil` if there is none.
    package init(
        changedAt: @escaping @Sendable () -> Date?, now: @escaping @Sendable () -> Date = { .now },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        (self.changedAt, self.now, self.sleep) = (changedAt, now, sleep)
    }

    /// Reads the file when it has not changed for a second, and again if it changes meanwhile.
    ///
    /// - Throws: `ConfigurationError` if the file keeps changing, the error of `read`, or that of `sleep`.
    package func read<Value>(_ read: () throws -> Value) async throws -> Value {
        for _ in 0..<Self.maximumReads {
            let changed = changedAt()
            let age = changed.map { Duration.seconds(now().timeIntervalSince($0)) } ?? Self.calm
            // After a change of the clock, the time of the file may be in the future.
            if age >= .zero, age < Self.calm {
                try await sleep(Self.calm - age)
                continue
            }
            let result = Result { try read() }
            if changedAt() == changed { return try result.get() }
        }
        throw ConfigurationError(["the file keeps changing"])
    }
}
