import StoreTypes

/// Refund history, in both versions.
extension SimulatedServerAPI {
    /// Twenty a page, by the date of the refund; the revision is the last one's date and id.
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

    /// The fifty newest, by the original transaction only.
    func refundHistoryV1(_ call: ServerAPICall) throws -> APIAnswer {
        let (customer, _) = try original(call, malformed: 4_000_008, notOriginal: 4_040_005)
        let newest = try sign(Self.refunds(of: customer).suffix(50), of: customer, for: call)
        return APIAnswer(body: .object(["signedTransactions": .array(newest)]))
    }

    /// The end of family sharing is no refund.
    private static func refunds(of customer: SimulatedCustomer) -> [SimulatedTransaction] {
        customer.transactions.filter { $0.revocation.map { $0.type != "FAMILY_REVOKE" } ?? false }
            .sorted { place($0).precedes(place($1)) }
    }

    private static func place(_ row: SimulatedTransaction) -> HistoryQuery.Revision {
        .init(milliseconds: row.revocation?.date.milliseconds ?? 0, transactionId: Int64(row.transactionId) ?? 0)
    }
}
