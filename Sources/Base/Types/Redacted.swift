/// A value that must not appear in a log, a report or an error. It prints as `***`.
///
/// Reading it takes an explicit call of ``reveal()``, so a search for that name finds every place that reads a
/// secret.
///
/// It is `public` and `@inlinable`, because otherwise every reading would be a call of unspecialized generic code
/// (docs/decisions/0004).
public struct Redacted<Value: Sendable>: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    @usableFromInline let value: Value

    @inlinable public init(_ value: Value) {
        self.value = value
    }

    /// Returns the value itself. Never pass the result to a log or an error.
    @inlinable public func reveal() -> Value { value }

    public var description: String { "***" }
    public var debugDescription: String { "***" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Redacted: Equatable where Value: Equatable {}
extension Redacted: Hashable where Value: Hashable {}

/// The shared secret of an app or an account. Old clients send it as `password`.
package typealias SharedSecret = Redacted<String>
