/// Validates nested objects and arrays without reporting their members.
extension JSONScanner {
    /// Scans one object or array with everything in it, without recursion.
    mutating func skipContainer(_ bytes: Span<UInt8>) throws(JSONStructureError) {
        var open = OpenContainers(limit: valueDepth)
        repeat {
            skipWhiteSpace(bytes)
            if consume(UInt8(ascii: "{"), bytes) {
                guard open.push(isObject: true) else { throw error(expecting: "less nesting") }
                skipWhiteSpace(bytes)
                if peek(bytes) != UInt8(ascii: "}") {
                    _ = try scanName(bytes)
                    continue
                }
            } else if consume(UInt8(ascii: "["), bytes) {
                guard open.push(isObject: false) else { throw error(expecting: "less nesting") }
                skipWhiteSpace(bytes)
                if peek(bytes) != UInt8(ascii: "]") { continue }
            } else if peek(bytes) == UInt8(ascii: "\"") {
                _ = try scanString(bytes)
            } else {
                try skipScalar(bytes)
            }
            try closeContainers(&open, bytes)
        } while !open.isEmpty
    }

    /// Called after each value. Closes the containers that end here, up to the comma before the next value.
    private mutating func closeContainers(
        _ open: inout OpenContainers, _ bytes: Span<UInt8>
    ) throws(JSONStructureError) {
        while !open.isEmpty {
            skipWhiteSpace(bytes)
            if consume(open.isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]"), bytes) {
                open.pop()
            } else if consume(UInt8(ascii: ","), bytes) {
                if open.isInObject { _ = try scanName(bytes) }
                return
            } else {
                throw error(expecting: open.isInObject ? "a comma or }" : "a comma or ]")
            }
        }
    }
}

/// A stack of the containers around a value, stored as one bit each: 1 for an object, 0 for an array. The lowest bit
/// is the innermost container.
private struct OpenContainers {
    private var kinds: UInt64 = 0
    private var depth = 0
    private let limit: Int

    /// - Parameter limit: the maximum depth, at most 64 because that is the number of bits.
    init(limit: Int) {
        self.limit = limit
    }

    var isEmpty: Bool { depth == 0 }
    /// Whether the innermost container is an object.
    var isInObject: Bool { kinds & 1 == 1 }

    /// Returns `false` if the maximum depth is already reached.
    mutating func push(isObject: Bool) -> Bool {
        guard depth < limit else { return false }
        kinds = kinds << 1 | (isObject ? 1 : 0)
        depth += 1
        return true
    }

    /// Removes the innermost container.
    mutating func pop() {
        kinds >>= 1
        depth -= 1
    }
}
