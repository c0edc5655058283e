import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import Testing

@Suite("History pages")
struct HistoryPagesTests {
    private func row(_ id: String, _ text: String = "") -> Signed<TransactionPayload> {
        var payload = TransactionPayload()
        payload.transactionId = id
        return Signed(payload: payload, text: text)
    }

    @Test("Pages end without hasMore, and a repeated transaction counts in its last version and position")
    func rows() throws {
        var pages = HistoryPages()
        try pages.add([row("1", "old"), row("2")], revision: "a", hasMore: true)
        #expect(!pages.isComplete && pages.revision == "a")
        try pages.add([], revision: "b", hasMore: true)
        try pages.add([row("3"), row("1", "new")], revision: "c", hasMore: false)
        #expect(pages.isComplete && pages.revision == "c")
        #expect(pages.transactions.map(\.payload.transactionId) == ["2", "3", "1"])
        #expect(pages.transactions.last?.text == "new")
    }

    @Test("Pages with a missing or repeated revision, or beyond the limits, are rejected")
    func loops() throws {
        for revisions in [[nil], ["a", "a"], ["a", "b", "a"], ["a", nil]] as [[String?]] {
            var pages = HistoryPages()
            for revision in revisions.dropLast() { try pages.add([], revision: revision, hasMore: true) }
            let error = #expect(throws: UpstreamError.self) {
                try pages.add([], revision: revisions.last ?? nil, hasMore: true)
            }
            #expect(error?.code == .endlessPages)
        }
        var pages = HistoryPages(limits: .init(pages: 3))
        try pages.add([], revision: "1", hasMore: true)
        try pages.add([], revision: "2", hasMore: true)
        #expect(throws: UpstreamError.self) { try pages.add([], revision: "3", hasMore: true) }
        var rows = HistoryPages(limits: .init(rows: 2))
        #expect(throws: UpstreamError.self) { try rows.add([row("1"), row("1")], revision: "1", hasMore: true) }
    }
}
