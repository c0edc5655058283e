import Foundation
import Testing

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// A page parsed strictly: an element that is not closed, or text that is not escaped, is an error.
struct Page {
    var language = ""
    var title = ""
    var policy = ""
    /// Table cells by caption, then by row header.
    var tables: [String: [String: [String]]] = [:]
    var captions = 0
    /// `true` if every header cell has a scope.
    var scopes = true
    /// Labels of the plots.
    var pictures: [String] = []
    var anchors: Set<String> = []
    var ids: Set<String> = []
    var text = ""

    init(_ html: String) throws {
        let parser = XMLParser(data: Data(html.utf8))
        let reader = Reader()
        parser.delegate = reader
        let isWellFormed = parser.parse()
        try #require(isWellFormed, "\(String(describing: parser.parserError)) in line \(parser.lineNumber)")
        self = reader.page
    }

    fileprivate init() {}
}

private final class Reader: NSObject, XMLParserDelegate {
    var page = Page()
    private var open: [String] = []
    private var texts: [String] = [""]
    private var caption = ""
    private var header: String?
    private var cells: [String] = []

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String] = [:]
    ) {
        open.append(name)
        texts.append("")
        if let id = attributes["id"] {
            #expect(page.ids.insert(id).inserted, "\(id) stands twice")
        }
        switch name {
        case "html": page.language = attributes["lang"] ?? ""
        case "meta": if attributes["http-equiv"] != nil { page.policy = attributes["content"] ?? "" }
        case "a":
            let target = attributes["href"] ?? ""
            #expect(target.hasPrefix("#"))
            page.anchors.insert(String(target.dropFirst()))
        case "svg": if attributes["role"] == "img" { page.pictures.append(attributes["aria-label"] ?? "") }
        case "th": page.scopes = page.scopes && attributes["scope"] != nil
        case "tr": (header, cells) = (nil, [])
        default: break
        }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { texts[texts.count - 1] += string }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        let text = texts.removeLast()
        #expect(open.popLast() == name)
        switch name {
        case "style": return
        case "title": page.title = text
        case "caption":
            caption = text
            page.captions += 1
            page.tables[caption] = [:]
        case "th": header = text
        case "td": cells.append(text)
        case "tr": if let header, open.last == "tbody" { page.tables[caption]?[header] = cells }
        case "body": page.text = text
        default: break
        }
        if !texts.isEmpty { texts[texts.count - 1] += text }
    }
}
