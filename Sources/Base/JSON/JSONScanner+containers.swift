/// Validates nested objects and arrays, and visits the values in them.
extension JSONScanner {
    /// A string, a number or a literal somewhere in a document, or a container that contains no other container.
    package struct Leaf: Sendable {
        /// The name before the value; `nil` for an element of an array.
        package let name: JSONString?
        /// The name before the container that was opened last.
        package let containerName: JSONString?
        package let value: Value
        /// The number of open containers: 1 for a member of the document.
        package let depth: Int
    }

    /// Scans a document that consists of exactly one object or array. Passes its leaves to `body` in document order,
    /// however deep they are, and a container without containers in it after its elements. Everything before an error
    /// has been passed.
    package mutating func scanLeaves(_ bytes: Span<UInt8>, _ body: (Leaf) -> Void) throws(JSONStructureError) {
        skipWhiteSpace(bytes)
        guard let first = peek(bytes), first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else {
            throw error(expecting: "an object or an array")
        }
        try scanContainer(bytes, body)
        skipWhiteSpace(bytes)
        guard position == bytes.count else { throw error(expecting: "nothing after the document") }
    }

    mutating func skipContainer(_ bytes: Span<UInt8>) throws(JSONStructureError) { try scanContainer(bytes) { _ in } }

    @inline(__always)
    private mutating func scanContainer(_ bytes: Span<UInt8>, _ body: (Leaf) -> Void) throws(JSONStructureError) {
        var open = OpenContainers(limit: valueDepth)
        var name: JSONString?
        /// The container that was opened last; `start` is `nil` after it ended.
        var last: (name: JSONString?, start: Int?) = (nil, nil)
        repeat {
            skipWhiteSpace(bytes)
            let start = position
            let isObject = peek(bytes) == UInt8(ascii: "{")
            if isObject || peek(bytes) == UInt8(ascii: "[") {
                position += 1
                guard open.push(isObject: isObject) else { throw error(expecting: "less nesting") }
                last = (name, start)
                name = nil
                skipWhiteSpace(bytes)
                if peek(bytes) != UInt8(ascii: isObject ? "}" : "]") {
                    if isObject { name = try scanName(bytes) }
                    continue
                }
            } else {
                let value: Value
                if peek(bytes) == UInt8(ascii: "\"") {
                    value = .string(try scanString(bytes))
                } else {
                    try skipScalar(bytes)
                    value = .scalar(start..<position)
                }
                body(Leaf(name: name, containerName: last.name, value: value, depth: open.depth))
            }
            while !open.isEmpty {
                skipWhiteSpace(bytes)
                if consume(open.isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]"), bytes) {
                    open.pop()
                    guard let start = last.start else { continue }
                    last.start = nil
                    let value = Value.container(start..<position)
                    body(Leaf(name: last.name, containerName: nil, value: value, depth: open.depth))
                } else if consume(UInt8(ascii: ","), bytes) {
                    name = open.isInObject ? try scanName(bytes) : nil
                    break
                } else {
                    throw error(expecting: open.isInObject ? "a comma or }" : "a comma or ]")
                }
            }
        } while !open.isEmpty
    }
}

/// A stack of the containers around a value, stored as one bit each: 1 for an object, 0 for an array. The lowest bit
/// is the innermost container.
private struct OpenContainers {
    private var kinds: UInt64 = 0
    private(set) var depth = 0
    private let limit: Int

    /// - Parameter limit: the maximum depth, at most 64 because that is the number of bits.
    init(limit: Int) { self.limit = limit }

    var isEmpty: Bool { depth == 0 }
    var isInObject: Bool { kinds & 1 == 1 }

    /// Returns `false` if the maximum depth is already reached.
    mutating func push(isObject: Bool) -> Bool {
        guard depth < limit else { return false }
        kinds = kinds << 1 | (isObject ? 1 : 0)
        depth += 1
        return true
    }

    mutating func pop() {
        kinds >>= 1
        depth -= 1
    }
}
