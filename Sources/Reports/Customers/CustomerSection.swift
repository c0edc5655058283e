import AppStorePayloads
import Base
import Comparison

/// One customer on the page: what they own, the timeline, the purchases, and the documents behind them.
struct CustomerSection {
    let customer: CustomerDocument
    /// Distinguishes the headings of several customers.
    let number: Int
    let isOnly: Bool
    let now: Timestamp

    func write(into html: inout HTMLWriter) {
        html.element("article", ["class": "customer", "aria-labelledby": "customer-\(number)"]) { html in
            html.element("h2", ["id": "customer-\(number)"]) { html in
                html.text(isOnly ? "Customer of " : "Customer \(number), of ")
                html.untrusted(customer.bundleId, isPath: true)
            }
            facts(&html)
            holdings(&html)
            CustomerTimeline(customer.transactions, now: now).write(into: &html)
            purchases(&html)
            documents(&html)
        }
    }

    // MARK: - Facts

    private func facts(_ html: inout HTMLWriter) {
        var facts = [("Environment", customer.environment), ("Source", "\(sourceText), \(customer.verifiedAt.minute)")]
        if let token = customer.appAccountToken { facts.append(("Account token", token)) }
        if let download = customer.download {
            if let date = download.originalPurchaseDate {
                let version = download.originalApplicationVersion.map { ", version \($0)" } ?? ""
                facts.append(("Downloaded the app", date.minute + version))
            }
            if let platform = download.originalPlatform { facts.append(("First platform", platform)) }
        }
        if let storefront = customer.transactions.last(where: { $0.storefront != nil })?.storefront {
            facts.append(("Storefront", storefront))
        }
        let refunds = customer.transactions.count { $0.revocationDate != nil && !$0.isShared }
        facts.append(("Purchases", "\(Int64(customer.transactions.count).grouped), \(refunds) refunded"))
        html.facts("Purchases signed by the App Store", facts)
        if customer.source == "receipt" {
            html.note("From the receipt alone: it does not show what happened after it was made.")
        }
    }

    private var sourceText: String {
        switch customer.source {
        case "api": "App Store Server API"
        case "stored": "store"
        case "receipt": "receipt"
        default: customer.source
        }
    }

    // MARK: - Holdings

    private func holdings(_ html: inout HTMLWriter) {
        let holdings = customer.holdings(at: now)
        let owned = holdings.filter { $0.state != .ended }
        html.element("h3", text: "What they own now")
        if owned.isEmpty { html.element("p", text: "Nothing at the moment.") }
        list(owned, &html)
        let ended = holdings.filter { $0.state == .ended }
        guard !ended.isEmpty else { return }
        html.element("details", ["class": "fold"], flag: owned.isEmpty ? "open" : nil) { html in
            html.element("summary", text: "What they owned before: \(ended.count)")
            list(ended, &html)
        }
    }

    private func list(_ holdings: [CustomerDocument.Holding], _ html: inout HTMLWriter) {
        guard !holdings.isEmpty else { return }
        html.element("ul", ["class": "holdings"]) { html in
            for holding in holdings.prefix(100) {
                html.element("li", ["class": "holding \(holding.state)"]) { html in
                    html.element("p", ["class": "what"]) { html in
                        html.badge("", sign: holding.state.symbol, holding.word)
                        html.text(" ")
                        html.element("strong") { $0.untrusted(holding.productId, isPath: true) }
                    }
                    for sentence in holding.sentences { html.element("p") { $0.untrusted(sentence, limit: 300) } }
                }
            }
        }
    }

    // MARK: - Purchases

    /// Rows that are not folded away.
    private static let openRows = 12

    private func purchases(_ html: inout HTMLWriter) {
        html.element("h3", text: "Purchases")
        let rows = customer.transactions.reversed().prefix(CustomerPage.maximumPurchases)
        guard !rows.isEmpty else { return html.element("p", text: "There are none.") }
        table(rows.prefix(Self.openRows), "Newest first", &html)
        let rest = rows.dropFirst(Self.openRows)
        if !rest.isEmpty {
            html.element("details", ["class": "fold"]) { html in
                html.element("summary", text: "\(Int64(rest.count).grouped) older purchases")
                table(rest, "Older purchases, newest first", &html)
            }
        }
        let hidden = customer.transactions.count - rows.count + customer.unreadable
        if hidden > 0 { html.note("\(Int64(hidden).grouped) more are not shown.") }
    }

    private func table(
        _ rows: some Collection<TransactionPayload>, _ caption: String, _ html: inout HTMLWriter
    ) {
        var columns: [TableColumn<TransactionPayload>] = [
            .rowHeader("Bought") { $0.text($1.purchaseDate?.minute ?? "–") },
            .cell("Product") { $0.untrusted($1.productId ?? "–", isPath: true) },
            .cell("Kind") { $0.untrusted($1.kindText) },
            .text("Until") { $0.expiresDate?.minute ?? "–" },
            .number("Price") { row in row.price.map { Money.text($0, row.currency) } ?? "–" },
        ]
        if rows.contains(where: { !$0.remarks.isEmpty }) {
            columns.append(
                .cell("Remarks") { html, row in
                    if !row.remarks.isEmpty { html.untrusted(row.remarks.joined(separator: "; ")) }
                })
        }
        columns.append(
            .cell("Transaction id") { html, row in
                html.element("code") { $0.untrusted(row.transactionId ?? "–") }
            })
        html.table(named: caption, of: rows, columns)
    }

    // MARK: - Documents

    /// Purchases whose documents are on the page.
    private static let maximumDocuments = 200

    private func documents(_ html: inout HTMLWriter) {
        html.element("h3", text: "Documents")
        html.note(
            "As the App Store signed them, for engineers. The signed texts are in the response of /v1/transactions.")
        html.element("div", ["class": "documents"]) { html in
            for subscription in customer.subscriptions {
                if let renewal = subscription.renewal {
                    document(
                        "Renewal of \(subscription.productId ?? subscription.originalTransactionId)", renewal.claims,
                        &html)
                }
            }
            if let download = customer.download { document("Download of the app", download.claims, &html) }
            if let receipt = customer.receipt { document("Receipt", receipt, &html) }
            for row in customer.transactions.reversed().prefix(Self.maximumDocuments) {
                document("Transaction \(row.transactionId ?? "–")", row.claims, &html)
            }
        }
    }

    private func document(_ title: String, _ json: [UInt8], _ html: inout HTMLWriter) {
        html.element("details", ["class": "document"]) { html in
            html.element("summary") { $0.untrusted(title) }
            html.element("pre") { html in
                for line in IndentedJSON.lines(of: json) {
                    html.untrusted(line, limit: 4_000)
                    html.lineBreak()
                }
            }
        }
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
