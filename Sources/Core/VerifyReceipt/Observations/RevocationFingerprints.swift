import ReceiptBridgeBase
import ReceiptBridgeReceipts
import ReceiptBridgeStorage

/// An identifier of a purchase whose revocation is looked up. A restored purchase may have another transaction id in a
/// receipt than in the records; its web order line item id is the same.
package enum PurchaseIdentifier: Sendable, Hashable {
    case transaction(String)
    case lineItem(String)

    var transactionId: String? { if case .transaction(let id) = self { id } else { nil } }
    var lineItem: String? { if case .lineItem(let id) = self { id } else { nil } }
}

extension ReceiptContents {
    var purchaseIdentifiers: [PurchaseIdentifier] {
        switch self {
        case .app(let receipt):
            var identifiers: [PurchaseIdentifier] = []
            identifiers.reserveCapacity(2 * receipt.purchases.count)
            for purchase in receipt.purchases {
                if let id = purchase.transactionId { identifiers.append(.transaction(id)) }
                if let item = purchase.webOrderLineItemId, item != 0 { identifiers.append(.lineItem(String(item))) }
            }
            return identifiers
        case .transaction(let receipt):
            return .all(receipt.transactionId, lineItem: receipt["web-order-line-item-id"])
        }
    }
}

extension [PurchaseIdentifier] {
    static func all(_ transactionId: String?, lineItem: String?) -> Self {
        [transactionId.map { .transaction($0) }, lineItem.map { .lineItem($0) }].compactMap(\.self)
    }
}

extension RevocationRow {
    var purchaseIdentifiers: [PurchaseIdentifier] { .all(transactionId, lineItem: webOrderLineItemId) }
}

/// Fingerprints of the identifiers of all purchases that were ever revoked: a purchase that is not among them is
/// certainly not revoked. Nothing is removed, and two identifiers can have one fingerprint; either costs a read of the
/// store and nothing else.
///
/// A fingerprint has 64 bits and depends on a random key, so nobody can choose identifiers that collide. Until those of
/// the store are added, and if there are too many, every identifier counts as present.
struct RevocationFingerprints: Sendable {
    private var fingerprints: Set<Int> = []
    private var isFull = false
    private var isLoaded = false
    private var loads = 0
    private let key: FingerprintKey
    private let limit: Int

    /// - Parameter limit: the maximum number of fingerprints, about 16 bytes each.
    init(_ key: FingerprintKey, limit: Int) { (self.key, self.limit) = (key, limit) }

    /// Whether an identifier that was not added is certainly not one of a revoked purchase.
    var isComplete: Bool { isLoaded && !isFull }
    /// Whether no purchase was ever revoked.
    var isCertainlyEmpty: Bool { isComplete && fingerprints.isEmpty }

    /// The identifiers so far stay, because the store may not have them yet. Returns the number of the load.
    mutating func beginLoading() -> Int {
        isLoaded = false
        loads += 1
        return loads
    }

    /// Records that all identifiers have been added since the load began, unless another one has begun.
    mutating func endLoading(_ number: Int) {
        if number == loads { isLoaded = true }
    }

    /// Adds the identifiers of a revoked purchase. Returns whether it was certainly not among them.
    @discardableResult
    mutating func insert(_ identifiers: [PurchaseIdentifier], in scope: AppScope) -> Bool {
        guard !isFull else { return false }
        let new = key.fingerprints(of: identifiers, in: scope)
        let isNew = isComplete && fingerprints.isDisjoint(with: new)
        fingerprints.formUnion(new)
        if fingerprints.count > limit { (fingerprints, isFull) = ([], true) }
        return isNew
    }

    func contains(_ identifier: PurchaseIdentifier, in scope: AppScope) -> Bool {
        !fingerprints.isDisjoint(with: key.fingerprints(of: [identifier], in: scope))
    }

    /// Returns whether the identifier with this fingerprint may be one of a revoked purchase.
    func mayContain(_ fingerprint: Int) -> Bool { !isComplete || fingerprints.contains(fingerprint) }
}

struct FingerprintKey: Sendable {
    private let key = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))

    /// Returns the fingerprints of identifiers of one app, in their order.
    func fingerprints(of identifiers: [PurchaseIdentifier], in scope: AppScope) -> [Int] {
        var common = Hasher()
        common.combine(key.0)
        common.combine(key.1)
        common.combine(scope)
        return identifiers.map { identifier in
            var hasher = common
            hasher.combine(identifier)
            return hasher.finalize()
        }
    }
}
