/// A value that must not appear in a log, a report or an error. It prints as `***`.
///
/// Reading it takes an explicit call of ``reveal()``, so a search for that name finds every place that reads a
/// secret.
///
/// It is `public` and `@inlinable`, because otherwise every reading would be a call of unspecialized generic code
/// (BER.swift).
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

/// Where a private key or a password comes from.
package enum SecretSource: Sendable, Hashable {
    /// A file. It is read again when it changes or when the secret is needed, so that a new secret needs no restart.
    case file(path: String)
    /// The text itself, for example from an environment variable.
    case text(Redacted<String>)
}

/// The shared secret of an app or an account. Old clients send it as `password`.
package typealias SharedSecret = Redacted<String>
