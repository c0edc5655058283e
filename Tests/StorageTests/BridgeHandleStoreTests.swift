import Base
import Storage
import Testing
import TestSupport

// T34
@Suite("Keys of bridge handles in the store")
struct BridgeHandleStoreTests {
    private static func key(_ byte: UInt8) -> Redacted<[UInt8]> { Redacted(Array(repeating: byte, count: 32)) }

    @Test(
        "The first key stays, for a second process and after the store was opened again",
        arguments: StoreTestEngine.available)
    func key(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let other = try await stage.second()
        async let first = stage.store.handles.handleKey(orInserting: Self.key(1))
        async let second = other.handles.handleKey(orInserting: Self.key(2))
        let keys = try await (first, second)
        #expect(keys.0 == keys.1)
        await other.close()
        let reopened = try await stage.reopened()
        #expect(try await reopened.handles.handleKey(orInserting: Self.key(3)) == keys.0)
        await reopened.close()
    }

    @Test("An erasure leaves only the digests of the erased ids and its time", arguments: StoreTestEngine.available)
    func marks(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let id = try #require(TransactionIdentifier(rawValue: "11"))
        try await stage.store.customers.save(
            CustomerRow(
                askedAt: Timestamp(milliseconds: 1), signedDate: Timestamp(milliseconds: 1), appAppleId: 7,
                revision: "r",
                transactions: [
                    TransactionRow(
                        transactionId: "12", originalTransactionId: "11", appTransactionId: nil, isSubscription: true,
                        signedDate: Timestamp(milliseconds: 1), revocation: nil, text: "12@1")
                ], statuses: [], renewals: [], aliases: []), of: stage.scope)
        let digests = ErasureMarks { id, scope in [Array("\(id) \(scope.environment.rawValue)".utf8)] }
        let digest = Array("11 Production".utf8)
        #expect(try await stage.store.handles.lastErasure(leaving: [digest]) == nil)
        var request = ErasureRequest(.transaction(id))
        _ = try await stage.store.personalData.erase(request, at: Timestamp(milliseconds: 5))
        #expect(try await stage.store.handles.lastErasure(leaving: [digest]) == nil)
        request.marks = digests
        for time in [9, 7] as [Int64] {
            _ = try await stage.store.personalData.erase(request, at: Timestamp(milliseconds: time))
        }
        #expect(
            try await stage.store.handles.lastErasure(leaving: [[1], digest]) == Timestamp(milliseconds: 9))
        // Nothing of this customer is stored, and nothing at all of the sandbox.
        let sandbox = AppScope(bundleId: stage.scope.bundleId, environment: .sandbox)
        var unknown = ErasureRequest(.transaction(try #require(TransactionIdentifier(rawValue: "99"))))
        unknown.marks = ErasureMarks(of: [sandbox], digests.digests)
        #expect(try await stage.store.personalData.erase(unknown, at: Timestamp(milliseconds: 9)).isEmpty)
        #expect(
            try await stage.store.handles.lastErasure(leaving: [Array("99 Sandbox".utf8)])
                == Timestamp(milliseconds: 9))
        #expect(try await stage.store.handles.lastErasure(leaving: [[1]]) == nil)
        #expect(try await stage.store.handles.lastErasure(leaving: []) == nil)
        await stage.store.close()
    }
}
