import ReceiptBridgeComparison
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeResponses

/// One customer on the page: what they own, the timeline, the purchases, and the documents behind them.
extension CustomerDocument {
    /// - Parameter number: Distinguishes the headings of several customers.
    func section(number: Int, isOnly: Bool, at now: Timestamp) -> ReportBlock {
        let customer = isOnly ? "Customer of " : "Customer \(number), of "
        return .section(
            id: "customer-\(number)", "\(customer)\(path: view.bundleId.rawValue)",
            facts + owned(at: now) + CustomerTimeline(transactions, now: now).blocks + purchases + documents, "customer"
        )
    }

    private var facts: [ReportBlock] {
        let source =
            switch view.source {
            case .api: "App Store Server API"
            case .stored: "store"
            case .receipt: "receipt"
            }
        var facts = [("Environment", view.environment.rawValue), ("Source", "\(source), \(view.verifiedAt.minute)")]
        if let token = view.records?.appAccountToken { facts.append(("Account token", token)) }
        if let download = view.appTransaction?.payload {
            if let date = download.originalPurchaseDate {
                let version = download.originalApplicationVersion.map { ", version \($0)" } ?? ""
                facts.append(("Downloaded the app", date.minute + version))
            }
            if let platform = download.originalPlatform { facts.append(("First platform", platform)) }
        }
        if let storefront = transactions.last(where: { $0.storefront != nil })?.storefront {
            facts.append(("Storefront", storefront))
        }
        let refunds = transactions.count { $0.revocationDate != nil && !$0.isShared }
        facts.append(("Purchases", "\(Int64(transactions.count).grouped), \(refunds) refunded"))
        let limit = ReportBlock.note("From the receipt alone: it does not show what happened after it was made.")
        return [.facts("Purchases signed by the App Store", facts)] + (view.source == .receipt ? [limit] : [])
    }

    private func owned(at now: Timestamp) -> [ReportBlock] {
        let holdings = holdings(at: now)
        let (owned, ended) = (holdings.filter { $0.state != .ended }, holdings.filter { $0.state == .ended })
        let before = ReportBlock.details(
            "What they owned before: \(ended.count)", [Self.list(ended)], isOpen: owned.isEmpty)
        return [
            .heading("What they own now"), owned.isEmpty ? .paragraph("Nothing at the moment.") : Self.list(owned),
        ] + (ended.isEmpty ? [] : [before])
    }

    private static func list(_ holdings: [Holding]) -> ReportBlock {
        .list(
            holdings.prefix(100).map { holding in
                let word: Words = "\(badge: holding.word, sign: holding.state.symbol)"
                let what: Words = "\(word) \(strong: "\(path: holding.productId)")"
                return ReportBlock.Item(
                    [.paragraph(what, "what")] + holding.sentences.map { .paragraph("\(outside: $0, limit: 300)") },
                    "holding \(holding.state)")
            }, "holdings")
    }

    // MARK: - Purchases

    private static let openRows = 12

    private var purchases: [ReportBlock] {
        let rows = transactions.reversed().prefix(CustomerPage.maximumPurchases)
        guard !rows.isEmpty else { return [.heading("Purchases"), .paragraph("There are none.")] }
        let rest = rows.dropFirst(Self.openRows)
        let older = ReportBlock.details(
            "\(Int64(rest.count).grouped) older purchases", [Self.table(rest, "Older purchases, newest first")])
        let hidden = Int64(transactions.count - rows.count + unreadable)
        return [.heading("Purchases"), Self.table(rows.prefix(Self.openRows), "Newest first")]
            + (rest.isEmpty ? [] : [older]) + (hidden > 0 ? [.note("\(hidden.grouped) more are not shown.")] : [])
    }

    private static func table(_ rows: some Collection<TransactionPayload>, _ caption: String) -> ReportBlock {
        var columns: [ReportTable.Column<TransactionPayload>] = [
            .rowHeader("Bought") { "\($0.purchaseDate?.minute ?? "–")" },
            .cell("Product") { "\(path: $0.productId ?? "–")" },
            .cell("Kind") { "\(outside: $0.kindText)" },
            .cell("Until") { "\($0.expiresDate?.minute ?? "–")" },
            .number("Price") { row in row.price.map { Money.text($0, row.currency) } ?? "–" },
        ]
        if rows.contains(where: { !$0.remarks.isEmpty }) {
            columns.append(
                .cell("Remarks") { $0.remarks.isEmpty ? "" : "\(outside: $0.remarks.joined(separator: "; "))" })
        }
        columns.append(.cell("Transaction id") { "\(code: "\(outside: $0.transactionId ?? "–")")" })
        return .table(ReportTable(caption, of: rows, columns))
    }

    // MARK: - Documents

    private static let maximumDocuments = 200

    private var documents: [ReportBlock] {
        var documents = subscriptions.compactMap { subscription in
            subscription.renewal.map { renewal in
                ReportBlock.document(
                    "Renewal of \(subscription.productId ?? subscription.originalTransactionId)", renewal.payload.claims
                )
            }
        }
        if let download = view.appTransaction?.payload {
            documents.append(.document("Download of the app", download.claims))
        }
        if let receipt { documents.append(.document("Receipt", receipt)) }
        documents += transactions.reversed().prefix(Self.maximumDocuments).map {
            .document("Transaction \($0.transactionId ?? "–")", $0.claims)
        }
        return [
            .heading("Documents"),
            .note(
                "As the App Store signed them, for engineers. The signed texts are in the response of /v1/transactions."
            ),
            .group("documents", documents),
        ]
    }
}

extension CustomerDocument.Holding.State {
    /// A sign that tells the states apart without color.
    fileprivate var symbol: String {
        switch self {
        case .owned: "✓"
        case .atRisk: "▲"
        case .ended: "–"
        }
    }
}
