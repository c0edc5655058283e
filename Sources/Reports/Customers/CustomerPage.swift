package import Base

/// The page of a customer for support teams: a form with one field, and what was found. It has no script and loads
/// nothing.
package struct CustomerPage: Sendable {
    /// `Content-Security-Policy`: the form may only be sent to this server.
    package static let policy = ContentPolicy.text(formAction: "'self'")
    /// Maximum number of customers and of purchases that a page shows.
    package static let (maximumCustomers, maximumPurchases) = (20, 1_000)

    /// What is shown below the form.
    package enum Content: Sendable {
        /// Nothing: no question was asked yet.
        case question
        case customers([CustomerDocument], order: CustomerOrder?)
        case problem(CustomerProblem)
    }

    /// The bundle ids that can be chosen.
    package let apps: [String]
    /// The chosen app; `nil` for the first one.
    package let selectedApp: String?
    /// The hidden value that the form sends back.
    package let formToken: String
    /// The id of the request, which the log has too; `nil` if there is none.
    package let requestId: String?
    package let now: Timestamp
    package let content: Content

    package init(
        apps: [String], selectedApp: String?, formToken: String, requestId: String?, now: Timestamp, content: Content
    ) {
        self.apps = apps
        self.selectedApp = selectedApp
        self.formToken = formToken
        self.requestId = requestId
        self.now = now
        self.content = content
    }

    /// The HTML, which is also well-formed XML.
    package var bytes: [UInt8] {
        // With the policy `no-referrer` browsers send the form with `Origin: null`.
        HTMLWriter.page(
            title: "Receipt Bridge: customers", policy: Self.policy, style: PackageResources.customers_css,
            referrer: "same-origin", skip: ("#result", "To the result")
        ) { html in
            html.hatches()
            html.element("header") { html in
                html.element("p", ["class": "product"], text: "Receipt Bridge · customers")
                html.element("h1", text: "Look up a customer")
                form(&html)
            }
            html.element("main", ["id": "result"], result)
            html.element("footer", [:], footer)
        }
    }

    /// Writes the form. The value is never written into a page.
    private func form(_ html: inout HTMLWriter) {
        html.element("form", ["method": "post", "action": "/customers", "autocomplete": "off"]) { html in
            html.empty("input", ["type": "hidden", "name": "token", "value": formToken])
            html.element("label", ["for": "question"]) { html in
                html.text("Transaction id, order id, account token, receipt or signed transaction")
            }
            html.element("div", ["class": "ask"]) { html in
                html.element(
                    "textarea",
                    [
                        "id": "question", "name": "question", "rows": "2", "required": "required",
                        "spellcheck": "false", "autocapitalize": "off", "aria-describedby": "forms",
                    ]
                ) { _ in }
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

    /// Writes the choice of an app, which ids need.
    private func choice(_ html: inout HTMLWriter) {
        html.element("label", ["class": "app"]) { html in
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

    private func result(_ html: inout HTMLWriter) {
        switch content {
        case .question: break
        case .problem(let problem): problem.write(into: &html)
        case .customers(let customers, let order):
            order?.write(into: &html)
            if customers.count > 1 {
                html.element("p", ["class": "summary"], text: "\(Int64(customers.count).grouped) customers were found.")
            }
            for (index, customer) in customers.prefix(Self.maximumCustomers).enumerated() {
                CustomerSection(customer: customer, number: index + 1, isOnly: customers.count == 1, now: now)
                    .write(into: &html)
            }
            if customers.count > Self.maximumCustomers {
                html.note("\(Int64(customers.count - Self.maximumCustomers).grouped) more are not shown.")
            }
        }
    }

    private func footer(_ html: inout HTMLWriter) {
        let request = requestId.map { " In the log this page is request \($0)." } ?? ""
        html.element(
            "p",
            text: "All times are UTC. This page contains purchases of a customer: protect it accordingly.\(request)")
        html.element("p") { $0.element("a", ["href": "/"], text: "Status of the server") }
    }
}

/// An order that was looked up.
package struct CustomerOrder: Sendable {
    /// Number of purchases in it.
    package let purchases: Int

    package init(purchases: Int) { self.purchases = purchases }

    fileprivate func write(into html: inout HTMLWriter) {
        let purchases = purchases == 1 ? "one purchase" : "\(Int64(purchases).grouped) purchases"
        html.element(
            "p", ["class": "standing done"], text: "The order is genuine. It has \(purchases) of this app.")
    }
}

/// The reason why no customer is shown, in words for support teams.
package struct CustomerProblem: Sendable {
    package let title: String
    package let sentences: [String]
    /// The stable code of the error.
    package let code: String

    package init(title: String, sentences: [String], code: String) {
        self.title = title
        self.sentences = sentences
        self.code = code
    }

    fileprivate func write(into html: inout HTMLWriter) {
        html.element("section", ["class": "problem", "role": "alert"]) { html in
            html.element("h2") { html in
                html.element("span", ["class": "mark", "aria-hidden": "true"], text: "▲ ")
                html.text(title)
            }
            for sentence in sentences { html.element("p", text: sentence) }
            html.element("p", ["class": "note"]) { html in
                html.text("Code for your engineers: ")
                html.element("code", text: code)
            }
        }
    }
}
