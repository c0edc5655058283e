import Foundation
import Testing

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// A page as a strict reader sees it: an element that is not closed, or text that is not escaped, is an error.
final class ReportDocument: NSObject, XMLParserDelegate {
    struct Element {
        let name: String
        let attributes: [String: String]
        var text = ""
    }

    /// In the order of their ends.
    private(set) var elements: [Element] = []
    private var open: [Element] = []

    init(_ bytes: [UInt8]) throws {
        super.init()
        let parser = XMLParser(data: Data(bytes))
        parser.delegate = self
        let isWellFormed = parser.parse()
        try #require(isWellFormed, "\(String(describing: parser.parserError)) in line \(parser.lineNumber)")
    }

    func all(_ name: String) -> [Element] { elements.filter { $0.name == name } }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String] = [:]
    ) {
        open.append(Element(name: name, attributes: attributes))
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        if !open.isEmpty { open[open.count - 1].text += string }
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        guard let element = open.popLast() else { return }
        elements.append(element)
        if !open.isEmpty, name != "script", name != "style" { open[open.count - 1].text += element.text }
    }
}
