package import Foundation

#if canImport(FoundationXML)
    package import FoundationXML
#endif

/// An HTML report parsed as strict XML: an element that is not closed or text that is not escaped is an error.
package final class ReportDocument: NSObject, XMLParserDelegate {
    package struct Element {
        package let name: String
        package let attributes: [String: String]
        package var text = ""
    }

    /// The elements in the order of their end tags.
    package private(set) var elements: [Element] = []
    private var open: [Element] = []

    /// - Throws: a failure with the first error and its line, if the page is not well-formed.
    package init(_ bytes: [UInt8]) throws {
        super.init()
        let parser = XMLParser(data: Data(bytes))
        parser.delegate = self
        guard parser.parse() else {
            throw RawConnection.Failure(
                description: "\(String(describing: parser.parserError)) in line \(parser.lineNumber)")
        }
    }

    /// What loads something, runs code outside the page's scripts, or leads nowhere.
    ///
    /// - Parameter isAllowed: whether a link to another place is meant.
    package func violations(isAllowed: (String) -> Bool = { _ in false }) -> [String] {
        let ids = elements.compactMap { $0.attributes["id"] }
        let outside = ["link", "img", "iframe", "object"].flatMap(all).map(\.name)
        let attributes = elements.flatMap(\.attributes.keys).filter {
            ["src", "style"].contains($0) || $0.hasPrefix("on")
        }
        let links = all("a").compactMap { $0.attributes["href"] }
            .filter { !ids.contains(String($0.dropFirst())) && !isAllowed($0) }
        return outside + attributes + links + Dictionary(grouping: ids) { $0 }.filter { $1.count > 1 }.map(\.key)
    }

    package func all(_ name: String) -> [Element] { elements.filter { $0.name == name } }

    package func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String] = [:]
    ) {
        open.append(Element(name: name, attributes: attributes))
    }

    package func parser(_ parser: XMLParser, foundCharacters string: String) {
        if !open.isEmpty { open[open.count - 1].text += string }
    }

    package func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?)
    {
        guard let element = open.popLast() else { return }
        elements.append(element)
        if !open.isEmpty, name != "script", name != "style" { open[open.count - 1].text += element.text }
    }
}
