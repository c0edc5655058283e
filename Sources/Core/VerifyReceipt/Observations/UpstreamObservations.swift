import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Logging
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeStorage

/// A record of what Apple's verifyReceipt responses reveal, for times when Apple is unavailable: which purchases were
/// refunded, and which customer a receipt without purchases belongs to. Only responses to authentic receipts are
/// recorded. In memory, and bounded. With a store, the record is loaded again after a restart.
struct UpstreamObservations: Sendable {
    let revocations: KnownRevocations
    /// By the SHA-256 digest of the signed bytes of the receipt.
    private let identifiers = GenerationalCache<[UInt8], CustomerIdentifiers>(limit: capacity)
    let writer: BackgroundStoreWriter?
    /// Looks up identifiers that are not in memory; `nil` if nothing is stored across restarts.
    private let store: (any Store)?

    private static let capacity = 200_000
    /// The maximum number of receipts whose identifiers are loaded from the store.
    private static let maximumLoadedReceipts = 50_000

    init(revocations: KnownRevocations, writer: BackgroundStoreWriter? = nil, store: (any Store)? = nil) {
        (self.revocations, self.store, self.writer) = (revocations, store, writer)
    }

    func load(from store: any RevocationStore) async throws(StorageError) {
        try await revocations.load(from: store)
        for (receipt, keys) in try await store.customerIdentifiersByReceipt(limit: Self.maximumLoadedReceipts) {
            save(keys, of: receipt)
        }
    }

    private static let pause = Duration.seconds(10)

    /// Starts to load what the store holds, as soon as it is open. If that fails, it is tried again.
    ///
    /// - Parameter first: loads what must be known first.
    func loading(
        from store: any Store, logger: Logger, _ first: @escaping @Sendable () async throws(StorageError) -> Void
    ) -> Task<Void, Never> {
        Task {
            while await store.whenOpen() {
                do throws(StorageError) {
                    try await first()
                    return try await load(from: store.revocations)
                } catch {
                    logger.error(
                        "cannot load revocations and receipt identifiers from the store; trying again",
                        metadata: ["reason": "\(error)"])
                }
                do { try await Task.sleep(for: Self.pause.atTestSpeed(atLeast: .milliseconds(20))) } catch { return }
            }
        }
    }

    /// Replaces the record with what the store holds. Until that is read, the store is asked for revocations.
    func reload(from store: any RevocationStore) async throws(StorageError) {
        let identifiersByReceipt = try await store.customerIdentifiersByReceipt(limit: Self.maximumLoadedReceipts)
        try await revocations.load(from: store)
        identifiers.removeAll()
        for (receipt, keys) in identifiersByReceipt { save(keys, of: receipt) }
    }

    /// - Parameter askedAt: when the request began. What Apple said later about a purchase stays.
    func record(_ answer: AppleResponse, for receipt: Receipt, askedAt: Timestamp) {
        guard answer.status == .valid || answer.status == .subscriptionExpired else { return }
        let (keys, scope) = (receipt.contents.lookupKeys, AppScope(of: receipt))
        // Most responses reveal nothing new, and parsing all their rows is expensive.
        guard
            keys.isEmpty || Self.mentionsCancellation(answer.body)
                || revocations.mayBeRevoked(keys, in: scope)
        else { return }
        let rows = (try? ResponseDocument(answer.body))?.revocationStates ?? []
        if keys.isEmpty { save(CustomerIdentifiers(rows), of: receipt) }
        revocations.record(rows, in: scope, askedAt: askedAt)
    }

    private func save(_ keys: CustomerIdentifiers, of receipt: Receipt) {
        let digest = Self.digest(of: receipt)
        guard !keys.isEmpty, identifiers[digest] != keys else { return }
        save(keys, of: digest)
        writer?.saveIdentifiers(keys, of: digest)
    }

    private func save(_ keys: CustomerIdentifiers, of digest: [UInt8]) {
        identifiers.insert(keys, for: digest, cost: keys.originalTransactionIds.count + keys.transactionIds.count)
    }

    /// The identifiers to look a customer up with: the receipt's own, otherwise those that Apple once returned for it.
    /// They are needed because a purchase can be in `latest_receipt_info` before it is in any receipt file.
    ///
    /// - Parameter limit: timeout of the read from the store, which is asked if the identifiers are not in memory.
    func lookupKeys(of receipt: Receipt, within limit: Duration) async -> CustomerIdentifiers {
        let keys = receipt.contents.orderedLookupKeys
        guard keys.isEmpty else { return keys }
        let digest = Self.digest(of: receipt)
        if let known = identifiers[digest] { return known }
        guard let store else { return keys }
        let reading = Task { try? await store.revocations.customerIdentifiers(of: digest) }
        guard let found = await TaskTimeout.value(of: reading, within: limit) ?? nil else { return keys }
        save(found, of: digest)
        return found
    }

    /// - Parameter limit: timeout of the read from the store.
    func lookupKeys(of item: AuthenticItem, within limit: Duration) async -> CustomerIdentifiers {
        guard let receipt = item.receipt else { return item.lookupKeys }
        return await lookupKeys(of: receipt, within: limit)
    }

    private static func digest(of receipt: Receipt) -> [UInt8] {
        SHA.digest(receipt.signedBytes.reveal(), with: .sha256)
    }

    private static let cancellation = ByteSearch("\"cancellation_date")

    private static func mentionsCancellation(_ body: [UInt8]) -> Bool { cancellation.occurs(in: body.span) }
}

/// A search for a fixed text in bytes that skips most of them (Horspool's algorithm: the byte under the end of the
/// pattern tells how far the pattern may move).
struct ByteSearch: Sendable {
    private let pattern: [UInt8]
    private let steps: [Int]

    /// - Parameter text: ASCII, not empty.
    init(_ text: StaticString) {
        pattern = text.withUTF8Buffer { Array($0) }
        var steps = [Int](repeating: pattern.count, count: 256)
        for (index, byte) in pattern.dropLast().enumerated() { steps[Int(byte)] = pattern.count - 1 - index }
        self.steps = steps
    }

    func occurs(in bytes: borrowing Span<UInt8>) -> Bool {
        var start = 0
        while start <= bytes.count - pattern.count {
            var index = pattern.count - 1
            while bytes[start + index] == pattern[index] {
                if index == 0 { return true }
                index -= 1
            }
            start += steps[Int(bytes[start + pattern.count - 1])]
        }
        return false
    }
}
