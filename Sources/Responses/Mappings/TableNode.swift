import Base

/// The subset of JSON that a table file uses.
enum TableNode {
    case object([String: TableNode])
    case array([TableNode])
    case text(String)
    case other

    /// Maximum number of values in a file.
    private static let maximumNodes = 1 << 20

    /// Parses a file; `nil` if it is not a JSON object.
    init?(json: [UInt8]) {
        guard let outline = try? JSONOutline(json.withoutByteOrderMark, maximumNodes: Self.maximumNodes) else {
            return nil
        }
        self.init(outline, at: 0)
    }

    private init(_ outline: JSONOutline, at index: Int) {
        if case .string(let string) = outline.nodes[index].value {
            self = string.text(in: outline.bytes.span).map(TableNode.text) ?? .other
        } else if outline.isObject(index) {
            let members = outline.children(of: index).map {
                (outline.name($0) ?? "", TableNode(outline, at: $0))
            }
            self = .object(Dictionary(members) { _, last in last })
        } else if outline.isArray(index) {
            self = .array(outline.children(of: index).map { TableNode(outline, at: $0) })
        } else {
            self = .other
        }
    }

    var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// The elements of an array of texts; `nil` for anything else.
    var texts: [String]? {
        guard case .array(let elements) = self else { return nil }
        let texts = elements.compactMap(\.text)
        return texts.count == elements.count ? texts : nil
    }
}
