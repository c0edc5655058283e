import Foundation
package import Operations

/// The identifier of an extension request: 1 to 128 printable ASCII characters. An extension for all subscribers
/// requires a UUID.
package struct RequestIdentifier: Sendable, Hashable {
    package let text: String

    /// Creates a random UUID in lower case.
    package init() { text = UUID().uuidString.lowercased() }

    /// - Throws: ``InvalidOperation`` if the text is empty, too long or contains other characters.
    package init(_ text: String) throws(InvalidOperation) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw InvalidOperation("--request-id: 1 to 128 printable characters without spaces")
        }
        self.text = text
    }

    /// - Throws: ``InvalidOperation`` if the text is not a UUID.
    package init(uuid text: String) throws(InvalidOperation) {
        guard UUID(uuidString: text) != nil else {
            throw InvalidOperation("--request-id: must be a UUID, not \(text)")
        }
        self.text = text
    }
}
