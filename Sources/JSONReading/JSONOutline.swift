/// A document in one pass: where each of its values stands, without anything built of them.
///
/// Values are in the order of the text; a container's members follow it, up to the index that its ``Node/end`` names.
/// Depth and number are limited, so that memory is too.
package struct JSONOutline: Sendable {
    /// One value.
    package struct Node: Sendable {
        /// What stands there, and where.
        package let value: JSONScanner.Value
        /// Of a member of an object.
        package let name: JSONString?
        /// Of the value behind this one and all that is in it.
        package fileprivate(set) var end: Int
    }

    /// The text.
    package let bytes: [UInt8]
    /// The first one is the document's object.
    package private(set) var nodes: [Node] = []

    /// From a document that is exactly one object, with blanks around it or without.
    ///
    /// - Parameter maximumNodes: values in it, at all depths.
    package init(_ bytes: [UInt8], maximumNodes: Int) throws(JSONStructureError) {
        self.bytes = bytes
        nodes.reserveCapacity(min(bytes.count / 24, maximumNodes))
        try read(bytes.span, maximumNodes)
    }

    private mutating func read(_ bytes: Span<UInt8>, _ maximumNodes: Int) throws(JSONStructureError) {
        var scanner = JSONScanner()
        var open: [(index: Int, isObject: Bool)] = []
        var name: JSONString?
        scanner.skipBlanks(bytes)
        guard scanner.peek(bytes) == UInt8(ascii: "{") else { throw scanner.fails(expecting: "a JSON object") }
        repeat {
            scanner.skipBlanks(bytes)
            guard nodes.count < maximumNodes else { throw scanner.fails(expecting: "fewer values") }
            let start = scanner.position
            let index = nodes.count
            let isObject = scanner.consume(UInt8(ascii: "{"), bytes)
            if isObject || scanner.consume(UInt8(ascii: "["), bytes) {
                guard open.count < JSONScanner.maximumDepth else { throw scanner.fails(expecting: "less nesting") }
                // Its end is written when it is known.
                nodes.append(Node(value: .container(start..<start + 1), name: name, end: index + 1))
                open.append((index, isObject))
                name = nil
                scanner.skipBlanks(bytes)
                let isEmpty = scanner.peek(bytes) == UInt8(ascii: isObject ? "}" : "]")
                if !isEmpty {
                    if isObject { name = try scanner.takeName(bytes) }
                    continue
                }
            } else if scanner.peek(bytes) == UInt8(ascii: "\"") {
                nodes.append(Node(value: .string(try scanner.takeString(bytes)), name: name, end: index + 1))
            } else {
                try scanner.skipScalar(bytes)
                nodes.append(Node(value: .scalar(start..<scanner.position), name: name, end: index + 1))
            }
            name = try close(&open, &scanner, bytes)
        } while !open.isEmpty
        scanner.skipBlanks(bytes)
        guard scanner.position == bytes.count else { throw scanner.fails(expecting: "nothing after the object") }
    }

    /// Behind a value: closes what ends here. Gives the name of the next value, where it has one.
    private mutating func close(
        _ open: inout [(index: Int, isObject: Bool)], _ scanner: inout JSONScanner, _ bytes: Span<UInt8>
    ) throws(JSONStructureError) -> JSONString? {
        while let container = open.last {
            scanner.skipBlanks(bytes)
            if scanner.consume(UInt8(ascii: container.isObject ? "}" : "]"), bytes) {
                let node = nodes[container.index]
                let whole = node.value.whole.lowerBound..<scanner.position
                nodes[container.index] = Node(value: .container(whole), name: node.name, end: nodes.count)
                open.removeLast()
            } else if scanner.consume(UInt8(ascii: ","), bytes) {
                return container.isObject ? try scanner.takeName(bytes) : nil
            } else {
                throw scanner.fails(expecting: container.isObject ? "a comma or }" : "a comma or ]")
            }
        }
        return nil
    }
}

extension JSONOutline {
    /// Whether the value is an object.
    package func isObject(_ index: Int) -> Bool { bytes[nodes[index].value.whole.lowerBound] == UInt8(ascii: "{") }

    /// Whether the value is an array.
    package func isArray(_ index: Int) -> Bool { bytes[nodes[index].value.whole.lowerBound] == UInt8(ascii: "[") }

    /// Whether the value is `null`.
    package func isNull(_ index: Int) -> Bool { bytes[nodes[index].value.whole.lowerBound] == UInt8(ascii: "n") }

    /// The indices of a container's members, in their order.
    package func children(of index: Int) -> Children { Children(outline: self, index: index) }

    /// The members of one container.
    package struct Children: Sequence, IteratorProtocol {
        private let outline: JSONOutline
        private let end: Int
        private var position: Int

        init(outline: JSONOutline, index: Int) {
            self.outline = outline
            position = index + 1
            end = outline.nodes[index].end
        }

        /// The next one's index.
        package mutating func next() -> Int? {
            guard position < end else { return nil }
            defer { position = outline.nodes[position].end }
            return position
        }
    }

    /// A member's name; nil for elements of arrays, and for names that are no text.
    package func name(_ index: Int) -> String? { nodes[index].name?.text(in: bytes.span) }
}
