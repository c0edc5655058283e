import ReceiptBridgeBase
import Synchronization

/// Endpoints that read transactions, subscriptions and orders.
extension SimulatedServerAPI {
    func transactionInfo(_ call: ServerAPICall) throws -> APIAnswer {
        let (customer, transaction) = try transaction(call)
        return APIAnswer(["signedTransactionInfo": try sign(transaction, of: customer, for: call)])
    }

    /// Handles Get Transaction History. Version 1 omits finished consumables unless they were refunded.
    func history(_ call: ServerAPICall, listsFinished: Bool) throws -> APIAnswer {
        let customer = try customer(call)
        let query = try HistoryQuery(call.request)
        let rows = customer.transactions.filter { listsFinished || $0.isInReceipts || $0.revocation != nil }
        let (pageRows, hasMore) = query.page(of: rows)
        var page: HistoryPage = (pageRows, hasMore, call.request.value("revision") ?? "0")
        if let last = pageRows.last { page.revision = HistoryQuery.Revision(last).text }
        applyFault(&page, of: rows, for: call)
        let signed = try page.rows.map { try sign($0, of: customer, for: call) }
        let position = JSONValue.members(["revision": page.revision, "hasMore": page.hasMore])
        let transactions = JSONValue.members(["signedTransactions": signed])
        return APIAnswer(body: .object(position + call.envelope + transactions))
    }

    private typealias HistoryPage = (rows: [SimulatedTransaction], hasMore: Bool, revision: String)

    private func applyFault(_ page: inout HistoryPage, of rows: [SimulatedTransaction], for call: ServerAPICall) {
        let requestedRevision = call.request.value("revision")
        switch call.fault {
        case .emptyHistory:
            page = ([], false, "0")
        case .emptyPage:
            page = ([], !page.rows.isEmpty, requestedRevision ?? "1_1")
        case .unchangedRevision:
            page.hasMore = true
            page.revision = requestedRevision ?? page.revision
        case .endlessPages:
            let revision = "\(clock.now.seconds)_\(jobs.withLock { $0.nextNumber() })"
            page = (Array(rows.prefix(HistoryQuery.pageSize)), true, revision)
        case .repeatedRows:
            page.rows += page.rows.prefix(1)
        default: break
        }
    }

    /// One element for each original transaction, grouped by subscription group.
    func subscriptionStatuses(_ call: ServerAPICall) throws -> APIAnswer {
        let customer = try customer(call)
        let requestedStatuses = try call.request.values("status", else: 4_000_031) {
            Int64($0).flatMap(SimulatedRenewal.Status.init(rawValue:))
        }
        var groups: [(group: String, items: [JSONValue])] = []
        for renewal in customer.renewals where requestedStatuses.isEmpty || requestedStatuses.contains(renewal.status) {
            guard let newest = customer.newestTransaction(of: renewal), let group = newest.product.group else {
                continue
            }
            let item = JSONValue([
                "originalTransactionId": renewal.originalTransactionId,
                "status": renewal.status.rawValue,
                "signedTransactionInfo": try sign(newest, of: customer, for: call),
                "signedRenewalInfo": try issuer.sign(.renewal(renewal), of: customer, at: call.instant, call.fault),
            ])
            if let index = groups.firstIndex(where: { $0.group == group }) {
                groups[index].items.append(item)
            } else {
                groups.append((group, [item]))
            }
        }
        let data = groups.map {
            JSONValue(["subscriptionGroupIdentifier": $0.group, "lastTransactions": $0.items])
        }
        return APIAnswer(body: .object(call.envelope + JSONValue.members(["data": data])))
    }

    /// Handles Get App Transaction Info. Throws 4040019 if the customer has no app transaction.
    func appTransactionInfo(_ call: ServerAPICall) throws -> APIAnswer {
        let payload = try customer(call).appTransaction(
            receiptCreationDate: clock.now, bundleId: JWSIssuer.bundleId(call.fault))
        guard let payload else { throw APIFailure(4_040_019) }
        return APIAnswer(["signedAppTransactionInfo": try issuer.sign(payload, call.fault)])
    }

    /// Handles Look Up Order ID. An unknown order has status 1, which is not an error. Only production knows orders.
    func orderLookup(_ call: ServerAPICall) throws -> APIAnswer {
        guard call.environment == .production else { throw APIFailure(4_000_000) }
        let order = call.values[0]
        guard (1...64).contains(order.utf8.count), order.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
        else { throw APIFailure(4_000_000) }
        guard let (customer, transaction) = customerRegistry.find(order: order) else {
            return APIAnswer(["status": 1])
        }
        let signed = try sign(transaction, of: customer, for: call)
        return APIAnswer(["status": 0, "signedTransactions": [signed]])
    }
}

extension SimulatedServerAPI {
    /// 20 refunds a page, by date of the refund. The revision consists of date and id of the last one.
    func refundHistory(_ call: ServerAPICall) throws -> APIAnswer {
        let customer = try customer(call)
        let start = try HistoryQuery.revision(of: call.request)
        let rest = Self.refunds(of: customer).filter { start?.precedes(Self.position($0)) ?? true }
        let page = rest.prefix(HistoryQuery.pageSize)
        let revision = page.last.map { Self.position($0).text } ?? call.request.value("revision") ?? "0"
        return APIAnswer([
            "signedTransactions": try page.map { try sign($0, of: customer, for: call) },
            "revision": revision, "hasMore": rest.count > page.count,
        ])
    }

    /// Handles version 1: the 50 newest refunds; only the original transaction id is accepted.
    func refundHistoryV1(_ call: ServerAPICall) throws -> APIAnswer {
        let (customer, _) = try subscription(call)
        let newest = try Self.refunds(of: customer).suffix(50).map { try sign($0, of: customer, for: call) }
        return APIAnswer(["signedTransactions": newest])
    }

    private static func refunds(of customer: SimulatedCustomer) -> [SimulatedTransaction] {
        customer.transactions.filter(\.isRefunded).sorted { position($0).precedes(position($1)) }
    }

    private static func position(_ row: SimulatedTransaction) -> HistoryQuery.Revision {
        .init(milliseconds: row.revocation?.date.milliseconds ?? 0, transactionId: Int64(row.transactionId) ?? 0)
    }
}
