/// A value that must not appear in a log, a report or an error. It prints as `***`.
///
/// Reading it takes an explicit call of ``reveal()``, so a search for that name finds every place that reads a
/// secret.
package struct Redacted<Value: Sendable>: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let value: Value

    package init(_ value: Value) {
        self.value = value
    }

    /// Returns the value itself. Never pass the result to a log or an error.
    package func reveal() -> Value { value }

    package var description: String { "***" }
    package var debugDescription: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Redacted: Equatable where Value: Equatable {}
extension Redacted: Hashable where Value: Hashable {}

/// The shared secret of an app or an account. Old clients send it as `password`.
package typealias SharedSecret = Redacted<String>
