import StoreTypes

/// Get Refund History in both versions.
extension SimulatedServerAPI {
    /// Handles version 2: 20 refunds a page, by date of the refund. The revision consists of date and id of the last
    /// one.
    func refundHistory(_ call: ServerAPICall) throws -> APIAnswer {
        let customer = try customer(call)
        let refunds = Self.refunds(of: customer)
        var rest = refunds
        let asked = call.request.value("revision")
        if let asked, asked != "0" {
            guard let revision = HistoryQuery.Revision(asked) else { throw APIFailure(4_000_005) }
            rest = refunds.filter { revision.precedes(Self.place($0)) }
        }
        let page = rest.prefix(HistoryQuery.pageSize)
        let revision = page.last.map { Self.place($0).text } ?? asked ?? "0"
        return APIAnswer(
            body: .object([
                "signedTransactions": .array(try sign(page, of: customer, for: call)), "revision": .string(revision),
                "hasMore": .bool(rest.count > page.count),
            ]))
    }

    /// Handles version 1: the 50 newest refunds; only the original transaction id is accepted.
    func refundHistoryV1(_ call: ServerAPICall) throws -> APIAnswer {
        let (customer, _) = try original(call, malformed: 4_000_008, notOriginal: 4_040_005)
        let newest = try sign(Self.refunds(of: customer).suffix(50), of: customer, for: call)
        return APIAnswer(body: .object(["signedTransactions": .array(newest)]))
    }

    /// Returns the refunds in order. The end of family sharing is not a refund.
    private static func refunds(of customer: SimulatedCustomer) -> [SimulatedTransaction] {
        customer.transactions.filter { $0.revocation.map { $0.type != "FAMILY_REVOKE" } ?? false }
            .sorted { place($0).precedes(place($1)) }
    }

    /// Returns the position of a refund in the history.
    private static func place(_ row: SimulatedTransaction) -> HistoryQuery.Revision {
        .init(milliseconds: row.revocation?.date.milliseconds ?? 0, transactionId: Int64(row.transactionId) ?? 0)
    }
}
