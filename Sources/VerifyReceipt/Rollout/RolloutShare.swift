package import Base
import Cryptography
import ReceiptDecoding

/// The share of an app's customers that a rollout includes.
///
/// A customer has a fixed position from 0 to 100, computed from an original transaction id. The share is all positions
/// below `percent`. So the same customer is always on the same side, and a higher percentage only adds customers.
package enum RolloutShare {
    /// Returns whether the customer with this original transaction id is included.
    package static func includes(_ identifier: TransactionIdentifier, percent: Double) -> Bool {
        position(of: identifier) < percent
    }

    /// Returns the position of a customer, at least 0 and less than 100.
    package static func position(of identifier: TransactionIdentifier) -> Double {
        // A Double has 53 bits, so the quotient is below 1.
        Double(UInt64(bitPattern: SHA.short(identifier.rawValue)) >> 11) / 0x1p53 * 100
    }
}

extension ReceiptContents {
    /// The smallest original transaction id; `nil` if the receipt has none. Ids are numbers that grow, so it is that of
    /// the customer's first purchase in the receipt.
    var smallestOriginalTransactionId: TransactionIdentifier? {
        lookupKeys.originalTransactionIds.min {
            ($0.rawValue.utf8.count, $0.rawValue) < ($1.rawValue.utf8.count, $1.rawValue)
        }
    }
}
