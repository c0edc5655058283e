import ReceiptBridgeTestSupport

/// What a report of a migration has.
struct Page {
    private let document: ReportDocument

    init(_ html: String) throws { document = try ReportDocument(Array(html.utf8)) }

    var language: String? { document.all("html").first?.attributes["lang"] }
    var title: String? { document.all("title").first?.text }
    var policy: String? { document.all("meta").first { $0.attributes["http-equiv"] != nil }?.attributes["content"] }
    var text: String { document.all("body").first?.text ?? "" }
    var captions: Int { document.all("caption").count }
    /// `true` if every header cell has a scope.
    var scopes: Bool { document.all("th").allSatisfy { $0.attributes["scope"] != nil } }
    /// Labels of the plots.
    var pictures: [String] {
        document.all("svg").filter { $0.attributes["role"] == "img" }.map { $0.attributes["aria-label"] ?? "" }
    }
    var ids: [String] { document.elements.compactMap { $0.attributes["id"] } }
    var links: [String] { document.all("a").map { $0.attributes["href"] ?? "" } }

    /// Table cells by caption, then by row header.
    var tables: [String: [String: [String]]] {
        var tables: [String: [String: [String]]] = [:]
        var (caption, header, cells) = ("", "", [String]())
        for element in document.elements {
            switch element.name {
            case "caption":
                caption = element.text
                tables[caption] = [:]
            case "th": header = element.text
            case "td": cells.append(element.text)
            case "tr":
                if !cells.isEmpty { tables[caption]?[header] = cells }
                cells = []
            default: break
            }
        }
        return tables
    }
}
