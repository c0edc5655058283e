package import ReceiptBridgeComparison
package import ReceiptBridgeBase

/// The page of a customer for support teams: a form with one field, and what was found. It has no script and loads
/// nothing.
package struct CustomerPage: Sendable {
    /// `Content-Security-Policy`: the form may only be sent to this server.
    static let policy = ContentPolicy.text(formAction: "'self'")
    static let (maximumCustomers, maximumPurchases) = (20, 1_000)

    package enum Content: Sendable {
        /// Nothing: no question was asked yet.
        case question
        /// With the number of purchases of the order that was looked up.
        case customers([CustomerDocument], order: Int?)
        case problem(CustomerProblem)
    }

    /// The bundle ids that can be chosen.
    let apps: [String]
    /// The chosen app; `nil` for the first one.
    let selectedApp: String?
    /// The hidden value that the form sends back.
    let formToken: String
    /// The id of the request, which the log has too; `nil` if there is none.
    let requestId: String?
    let now: Timestamp
    let content: Content

    package init(
        apps: [String], selectedApp: String?, formToken: String, requestId: String?, now: Timestamp, content: Content
    ) {
        (self.apps, self.selectedApp, self.formToken) = (apps, selectedApp, formToken)
        (self.requestId, self.now, self.content) = (requestId, now, content)
    }

    package var page: ReportPage {
        var page = ReportPage(
            title: "Receipt Bridge: customers", skip: ("#main", "To the result"), product: "Receipt Bridge · customers",
            heading: "Look up a customer", main: result)
        (page.form, page.links) = (form, nil)
        let request = requestId.map { " In the log this page is request \($0)." } ?? ""
        page.footer = [
            "All times are UTC. This page contains purchases of a customer: protect it accordingly.\(request)",
            "\(link: "Status of the server", ["href": "/"])",
        ]
        // With the policy `no-referrer` browsers send the form with `Origin: null`.
        (page.policy, page.referrer, page.style) = (Self.policy, "same-origin", PackageResources.customers_css)
        return page
    }

    /// Writes the form. The value is never written into a page.
    private func form(_ html: inout HTMLWriter) {
        html.element("form", ["method": "post", "action": "/customers", "autocomplete": "off"]) { html in
            html.empty("input", ["type": "hidden", "name": "token", "value": formToken])
            html.element(
                "label", ["for": "question"],
                text: "Transaction id, order id, account token, receipt or signed transaction")
            html.element("div", "ask") { html in
                html.element(
                    "textarea",
                    [
                        "id": "question", "name": "question", "rows": "2", "required": "required",
                        "spellcheck": "false", "autocapitalize": "off", "aria-describedby": "forms",
                    ], text: "")
                if apps.count > 1 { choice(&html) }
                html.element("button", ["type": "submit"], text: "Look up")
            }
            html.element(
                "p", ["class": "note", "id": "forms"],
                text: """
                    For example 2000000123456789, MK5TTTVWJH, or the whole text of a receipt. It is sent to this server \
                    only, and is not stored.
                    """)
        }
    }

    private func choice(_ html: inout HTMLWriter) {
        html.element("label", "app") { html in
            html.element("span", text: "App")
            html.element("select", ["name": "bundleId"]) { html in
                for app in apps {
                    html.element("option", ["value": app], flag: app == selectedApp ? "selected" : nil) {
                        $0.text(app)
                    }
                }
            }
        }
    }

    private var result: [ReportBlock] {
        switch content {
        case .question: return []
        case .problem(let problem): return [problem.block]
        case .customers(let customers, let order):
            let found = "\(Int64(customers.count).grouped) customers were found."
            let shown = customers.prefix(Self.maximumCustomers)
            let hidden = Int64(customers.count - shown.count)
            return (order.map { [Self.order(of: $0)] } ?? [])
                + (customers.count > 1 ? [.paragraph("\(found)", "summary")] : [])
                + shown.enumerated().map { index, customer in
                    customer.section(number: index + 1, isOnly: customers.count == 1, at: now)
                } + (hidden > 0 ? [.note("\(hidden.grouped) more are not shown.")] : [])
        }
    }

    private static func order(of purchases: Int) -> ReportBlock {
        let purchases = purchases == 1 ? "one purchase" : "\(Int64(purchases).grouped) purchases"
        return .paragraph("The order is genuine. It has \(purchases) of this app.", "standing done")
    }
}
