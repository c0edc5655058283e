import AppStore
import Cryptography
import Ledger
import Purchases
import ReceiptDecoding
import StoreTypes

/// What Apple's own verifyReceipt answers teach for the time when Apple has none: who was refunded, and whom a receipt
/// without a purchase belongs to. Only answers to authentic receipts count. In memory, and bounded; with a store there
/// again after a restart.
struct UpstreamObservations: Sendable {
    let revocations: RevocationCache
    /// By SHA-256 of what is signed in the receipt.
    private let identifiers = GenerationalCache<[UInt8], CustomerIdentifiers>(limit: capacity)
    let writer: BackgroundStoreWriter?

    /// Identifiers in memory.
    private static let capacity = 200_000
    /// Receipts whose identifiers are read at the start.
    private static let loaded = 50_000

    /// - Parameter writer: nil where nothing is remembered over a restart.
    init(revocations: RevocationCache, writer: BackgroundStoreWriter? = nil) {
        self.revocations = revocations
        self.writer = writer
    }

    /// Takes in what was known before the start.
    func load(from store: Store) throws(StorageError) {
        try revocations.load(from: store)
        for (receipt, keys) in try store.customerIdentifiersByReceipt(limit: Self.loaded) { save(keys, of: receipt) }
    }

    /// Knows what the store holds, and nothing else; where it cannot be read, what it knew before.
    func reload(from store: Store) throws(StorageError) {
        let learnt = try store.customerIdentifiersByReceipt(limit: Self.loaded)
        try revocations.reload(from: store)
        identifiers.removeAll()
        for (receipt, keys) in learnt { save(keys, of: receipt) }
    }

    /// - Returns: purchases that are taken back now and were not, or the other way round: what was told of them before counts
    ///   no more.
    func record(_ answer: UpstreamResponse, for receipt: Receipt) -> [String] {
        guard answer.status == .valid || answer.status == .subscriptionExpired else { return [] }
        let keys = receipt.contents.lookupKeys
        // Most answers teach nothing, and reading all their rows is dear.
        guard
            keys.isEmpty || Self.mentionsCancellation(answer.body)
                || revocations.knows(keys, of: receipt.bundleId, in: receipt.environment)
        else { return [] }
        let rows = VerifyReceiptRow.all(in: answer.body)
        if keys.isEmpty { save(CustomerIdentifiers(rows), of: receipt) }
        return revocations.record(rows, of: receipt.bundleId, in: receipt.environment)
    }

    private func save(_ learnt: CustomerIdentifiers, of receipt: Receipt) {
        let digest = Self.digest(of: receipt)
        guard !learnt.isEmpty, identifiers[digest] != learnt else { return }
        save(learnt, of: digest)
        writer?.saveIdentifiers(learnt, of: digest)
    }

    private func save(_ keys: CustomerIdentifiers, of digest: [UInt8]) {
        identifiers.insert(keys, for: digest, cost: keys.originalTransactionIds.count + keys.transactionIds.count)
    }

    /// The receipt's own identifiers, or where it has none those that Apple once named for it: a purchase can be in
    /// `latest_receipt_info` before it is in any receipt file.
    func lookupKeys(of receipt: Receipt) -> CustomerIdentifiers {
        let keys = receipt.contents.orderedLookupKeys
        return keys.isEmpty ? identifiers[Self.digest(of: receipt)] ?? keys : keys
    }

    private static func digest(of receipt: Receipt) -> [UInt8] {
        SHA.digest(receipt.signedBytes.reveal(), with: .sha256)
    }

    private static let cancellation = ByteSearch("\"cancellation_date")

    private static func mentionsCancellation(_ body: [UInt8]) -> Bool { cancellation.occurs(in: body.span) }
}
