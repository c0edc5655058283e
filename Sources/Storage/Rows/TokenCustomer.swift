package import Base

/// A customer that has an account token in a transaction.
package struct TokenCustomer: Sendable, Hashable {
    package let scope: AppScope
    /// An original transaction id of the customer.
    package let identifier: TransactionIdentifier
}
