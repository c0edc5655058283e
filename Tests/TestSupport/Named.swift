/// A test argument with a name. The log of a run shows the name instead of a value of up to a million characters.
package struct Named<Value: Sendable>: Sendable, CustomStringConvertible {
    package let value: Value
    package let description: String

    /// Names each value by the beginning of `name`: a part of the value, or the value itself.
    package static func list(_ values: [Value], by name: (Value) -> Any = { $0 }) -> [Named] {
        values.map { Named(value: $0, description: shortened(String(reflecting: name($0)))) }
    }

    /// Returns at most 100 characters; a longer text is followed by its size in bytes.
    private static func shortened(_ text: String) -> String {
        let count = text.utf8.count
        return count <= 100 ? text : "\(text.prefix(100))… (\(count) bytes)"
    }
}
