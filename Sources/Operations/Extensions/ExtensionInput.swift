package import AppStore

/// The length and reason of a renewal date extension, within the limits that Apple allows.
///
/// https://developer.apple.com/documentation/appstoreserverapi/extendrenewaldaterequest
package struct ExtensionInput: Sendable, Hashable {
    /// Days to extend by, 1 to 90.
    package let days: Int
    package let reason: ExtensionReason

    /// - Throws: ``InvalidOperation`` if a value is out of range.
    package init(days: Int, reason: Int64) throws(InvalidOperation) {
        guard (1...90).contains(days) else { throw InvalidOperation("--days: 1 to 90, not \(days)") }
        guard let reason = ExtensionReason(rawValue: reason) else {
            throw InvalidOperation(
                "--reason: 0 to 3, not \(reason)",
                hint: "0 undeclared, 1 customer satisfaction, 2 other, 3 service issue or outage")
        }
        self.days = days
        self.reason = reason
    }
}
