import AppStore
import Foundation
import StoreTypes

/// Whose sandbox receipts are answered: by transaction ids, which receipts hold, and by `appAccountToken`, which only the
/// App Store Server API tells.
package struct SandboxAllowlist: Sendable, Hashable {
    private let identifiers: Set<String>
    /// In lower case.
    private let tokens: Set<String>

    package init(_ names: [String]) {
        identifiers = Set(names.filter(Self.isIdentifier))
        tokens = Set(names.filter { !Self.isIdentifier($0) }.map { $0.lowercased() })
    }

    package static func isIdentifier(_ name: String) -> Bool { TransactionIdentifier(rawValue: name) != nil }

    package static func isToken(_ name: String) -> Bool { UUID(uuidString: name) != nil }

    /// Whether a look-up can tell more than the receipt.
    var hasTokens: Bool { !tokens.isEmpty }

    func contains(_ keys: CustomerIdentifiers) -> Bool {
        (keys.originalTransactionIds + keys.transactionIds).contains { identifiers.contains($0.rawValue) }
    }

    func contains(_ records: CustomerRecords) -> Bool {
        records.transactions.contains { transaction in
            transaction.payload.appAccountToken.map { tokens.contains($0.lowercased()) } ?? false
        }
    }
}
