import ReceiptBridgeBase
import Foundation
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Synchronization
import Testing
import ReceiptBridgeTestSupport

/// What an erasure leaves in the file. `ErasureTableTests` has what it leaves in the tables of every engine.
@Suite("Erasure of a customer from the file")
struct ErasureTests {
    private let folder: TemporaryFolder
    private let store: SQLiteStore
    private let scope: AppScope
    private static let token = "5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f"
    private static let otherToken = "00000000-6f2b-4c8a-9d3e-7a1b2c3d4e5f"
    private static let (mine, other) = ("73000000000000", "84000000000000")

    init() throws {
        folder = try TemporaryFolder()
        store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        scope = try AppScope.of()
    }

    private func fill(_ prefix: String, token: String) async throws {
        try await CustomerDataFixture(prefix, token: token, in: scope).save(to: store)
    }

    private func erase(keeps: Bool = false) async throws -> Erasure {
        let id = try #require(TransactionIdentifier(rawValue: "\(Self.mine)1"))
        return try await store.erase(
            ErasureRequest(.transaction(id), keepsRevocations: keeps), at: Timestamp(milliseconds: 9_000))
    }

    /// Returns whether the files of the store contain a text: as it is, or inside one or two levels of JWS.
    private func holds(_ text: String) -> Bool {
        let files = ["", "-wal"].map { suffix in
            (try? Data(contentsOf: URL(filePath: store.path + suffix))) ?? Data()
        }
        var shapes = [Data(text.utf8)]
        for _ in 0..<2 {
            shapes += shapes.flatMap { shape in
                (0..<3).map { shift in
                    // The bytes before and after it change the first and the last character.
                    let text = (Data(repeating: 0x20, count: shift) + shape).base64EncodedString()
                    return Data(text.utf8.dropFirst(shift == 0 ? 0 : shift + 1).dropLast(4))
                }
            }
        }
        return shapes.contains { shape in files.contains { $0.firstRange(of: shape) != nil } }
    }

    @Test("An erasure leaves no trace of the customer in the file, and keeps other customers")
    func whole() async throws {
        try await fill(Self.other, token: Self.otherToken)
        try await fill(Self.mine, token: Self.token)
        for text in ["\(Self.mine)1", Self.token] { #expect(holds(text)) }
        #expect(try await !erase().isEmpty)
        try await store.compact()
        for text in ["\(Self.mine)1", "\(Self.mine)2", "\(Self.mine)9", Self.token] { #expect(!holds(text), "\(text)") }
        for text in ["\(Self.other)1", "\(Self.other)9", Self.otherToken] { #expect(holds(text), "\(text)") }
    }

    @Test("A renewal that is stored between the search for the customer and the deletion is erased, too")
    func renewal() async throws {
        try await fill(Self.mine, token: Self.token)
        let hasBegun = Mutex(false)
        let isErasing = DispatchSemaphore(value: 0)
        let insertion = SQLStatement(
            """
            INSERT INTO transactionRecord
                (app, transactionId, originalTransactionId, appTransactionId, customer, place, signedDate, text)
            SELECT app, $1, originalTransactionId, appTransactionId, customer, 5, signedDate, text
            FROM transactionRecord WHERE transactionId = $2
            """, .text("\(Self.mine)5"), .text("\(Self.mine)1"))
        // The search does not see the transaction, which is committed before the deletion begins.
        let step = SQLStep<SQLiteStore.Row, Void>.run([]) { (_) throws(StorageError) in
            hasBegun.withLock { $0 = true }
            isErasing.wait()
            return .run([insertion]) { _ in .end(()) }
        }
        async let stored: Void = store.transaction(step)
        let begins = await eventually { hasBegun.withLock { $0 } }
        async let erased = erase()
        let waits = await eventually { store.writesWaiting == 1 }
        isErasing.signal()
        try await stored
        let erasure = try await erased
        #expect(begins && waits)
        #expect(erasure.kinds.first { $0.name == "transactions" }?.count == 3)
        let id = try #require(TransactionIdentifier(rawValue: "\(Self.mine)5"))
        #expect(try await store.footprint(of: ErasureRequest(.transaction(id))).isEmpty)
    }

    @Test("If revocations are kept, no other data of the customer is left in the file")
    func revocations() async throws {
        try await fill(Self.mine, token: Self.token)
        #expect(try await erase(keeps: true).keptRevocations == 2)
        try await store.compact()
        #expect(!holds("\(Self.mine)1") && !holds("55\(Self.mine)2") && !holds(Self.token))
        #expect(holds("\(Self.mine)2"))
    }
}
