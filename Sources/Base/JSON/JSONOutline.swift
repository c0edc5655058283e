/// An index of all values of a JSON document, built in one pass. It stores positions only and decodes nothing.
///
/// The nodes are in document order: the members of a container follow it directly, up to the index ``Node/end``. For
/// example, `{"a":[1,2],"b":3}` has five nodes: 0 is the object with end 5, 1 is the array with end 4, 2 and 3 are
/// its elements, and 4 is the member `b`. Nesting depth and number of values are limited, so memory is limited too.
package struct JSONOutline: Sendable {
    package struct Node: Sendable {
        package let value: JSONScanner.Value
        package let name: JSONString?
        /// The index of the first node after this value and everything inside it.
        package fileprivate(set) var end: Int
    }

    package let bytes: [UInt8]
    /// All values. Index 0 is the object of the whole document.
    package private(set) var nodes: [Node] = []

    /// Reads a document that consists of exactly one object, with optional whitespace around it. Values are counted at
    /// all depths.
    package init(_ bytes: [UInt8], maximumNodes: Int) throws(JSONStructureError) {
        self.bytes = bytes
        nodes.reserveCapacity(min(bytes.count / 24, maximumNodes))
        try read(bytes.span, maximumNodes)
    }

    /// Scans the document without recursion: open containers are on a stack.
    private mutating func read(_ bytes: Span<UInt8>, _ maximumNodes: Int) throws(JSONStructureError) {
        var scanner = JSONScanner()
        var open: [(index: Int, isObject: Bool)] = []
        var name: JSONString?
        scanner.skipWhiteSpace(bytes)
        guard scanner.peek(bytes) == UInt8(ascii: "{") else { throw scanner.error(expecting: "a JSON object") }
        repeat {
            scanner.skipWhiteSpace(bytes)
            guard nodes.count < maximumNodes else { throw scanner.error(expecting: JSONStructureError.fewerValues) }
            let start = scanner.position
            let index = nodes.count
            let isObject = scanner.consume(UInt8(ascii: "{"), bytes)
            if isObject || scanner.consume(UInt8(ascii: "["), bytes) {
                guard open.count < JSONScanner.maximumDepth else { throw scanner.error(expecting: "less nesting") }
                // The range and the end are preliminary until the closing bracket is found.
                nodes.append(Node(value: .container(start..<start + 1), name: name, end: index + 1))
                open.append((index, isObject))
                name = nil
                scanner.skipWhiteSpace(bytes)
                let isEmpty = scanner.peek(bytes) == UInt8(ascii: isObject ? "}" : "]")
                if !isEmpty {
                    if isObject { name = try scanner.scanName(bytes) }
                    continue
                }
            } else if scanner.peek(bytes) == UInt8(ascii: "\"") {
                nodes.append(Node(value: .string(try scanner.scanString(bytes)), name: name, end: index + 1))
            } else {
                try scanner.skipScalar(bytes)
                nodes.append(Node(value: .scalar(start..<scanner.position), name: name, end: index + 1))
            }
            name = try close(&open, &scanner, bytes)
        } while !open.isEmpty
        scanner.skipWhiteSpace(bytes)
        guard scanner.position == bytes.count else { throw scanner.error(expecting: "nothing after the object") }
    }

    /// Called after each value. Closes the containers that end here and returns the name of the next value, if it has
    /// one.
    private mutating func close(
        _ open: inout [(index: Int, isObject: Bool)], _ scanner: inout JSONScanner, _ bytes: Span<UInt8>
    ) throws(JSONStructureError) -> JSONString? {
        while let container = open.last {
            scanner.skipWhiteSpace(bytes)
            if scanner.consume(UInt8(ascii: container.isObject ? "}" : "]"), bytes) {
                let node = nodes[container.index]
                let whole = node.value.whole.lowerBound..<scanner.position
                nodes[container.index] = Node(value: .container(whole), name: node.name, end: nodes.count)
                open.removeLast()
            } else if scanner.consume(UInt8(ascii: ","), bytes) {
                return container.isObject ? try scanner.scanName(bytes) : nil
            } else {
                throw scanner.error(expecting: container.isObject ? "a comma or }" : "a comma or ]")
            }
        }
        return nil
    }
}

extension JSONOutline {
    package func isObject(_ index: Int) -> Bool { bytes[nodes[index].value.whole.lowerBound] == UInt8(ascii: "{") }

    package func isArray(_ index: Int) -> Bool { bytes[nodes[index].value.whole.lowerBound] == UInt8(ascii: "[") }

    package func isNull(_ index: Int) -> Bool { bytes[nodes[index].value.whole.lowerBound] == UInt8(ascii: "n") }

    /// Whether all names and strings are valid UTF-8 and contain no unpaired surrogate.
    package var isUnicode: Bool {
        let bytes = bytes.span
        return nodes.allSatisfy { node in
            if let name = node.name, name.text(in: bytes) == nil { return false }
            guard case .string(let string) = node.value else { return true }
            return string.text(in: bytes) != nil
        }
    }

    /// Returns the indices of the direct members or elements of a container, in document order.
    package func children(of index: Int) -> Children { Children(outline: self, index: index) }

    /// A sequence of the node indices of the direct members of one container.
    package struct Children: Sequence, IteratorProtocol {
        private let outline: JSONOutline
        private let end: Int
        private var position: Int

        init(outline: JSONOutline, index: Int) {
            self.outline = outline
            position = index + 1
            end = outline.nodes[index].end
        }

        package mutating func next() -> Int? {
            guard position < end else { return nil }
            defer { position = outline.nodes[position].end }
            return position
        }
    }

    /// Returns the name of a member; `nil` for an array element, or if the name is not valid UTF-8.
    package func name(_ index: Int) -> String? { nodes[index].name?.text(in: bytes.span) }
}
