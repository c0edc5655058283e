/// A value that must not appear in a log, a report or an error: it prints as `***`.
///
/// Reading it is a deliberate act (`reveal()`), so that a search for that word finds every place that does.
package struct Redacted<Value: Sendable>: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let value: Value

    package init(_ value: Value) {
        self.value = value
    }

    package func reveal() -> Value { value }

    package var description: String { "***" }
    package var debugDescription: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Redacted: Equatable where Value: Equatable {}
extension Redacted: Hashable where Value: Hashable {}

/// An app's or an account's shared secret, which old clients send as `password`.
package typealias SharedSecret = Redacted<String>
