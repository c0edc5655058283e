import ReceiptBridgeBase

/// Tries the members of JSON.
extension ReceiptFinder {
    /// Tries the members of a JSON document. Returns `false` if it is not one; if it is cut off, the members before its
    /// end are tried.
    mutating func searchJSON(_ text: [UInt8], _ path: Path) -> Bool {
        let before = found.plausibleCount
        var scanner = JSONScanner()
        do throws(JSONStructureError) {
            try scanner.scanLeaves(text.span) { visit($0, in: text, path) }
        } catch {
            return before < found.plausibleCount
        }
        let isObject = text.first == UInt8(ascii: "{")
        found.note(
            ReceiptDecodingError(
                .notAReceipt, at: "text", "a JSON \(isObject ? "object" : "array") without a receipt"))
        return true
    }

    private mutating func visit(_ leaf: JSONScanner.Leaf, in text: [UInt8], _ path: Path) {
        guard leaf.depth <= Self.maximumDepth else { return }
        let bytes = text.span
        switch leaf.value {
        case .string(let string):
            if let name = leaf.name { found.stores.note(name, string, in: bytes) }
            let wrapper = Self.wrapper(of: leaf, in: bytes)
            let text = string.unescaped(in: bytes)
            if min(wrapper, path.preference) < ReceiptRepairer.wrappers.count {
                search(text, Self.inside(leaf, wrapper, path))
            } else {
                searchInside(text, Self.inside(leaf, wrapper, path))
            }
        case .scalar(let range):
            if let name = leaf.name { found.stores.note(name, JSONString(range: range), in: bytes) }
        case .container(let range):
            guard let list = PrintedBytes.decimal(text[range]), list.count >= Self.minimumTextSize else { return }
            var path = Self.inside(leaf, Self.wrapper(of: leaf, in: bytes), path)
            path.repairs += [.byteList]
            path.isDecoded = true
            search(list, path)
        }
    }

    /// The index of a member's name in ``ReceiptRepairer/wrappers``, or their number for any other name.
    private static func wrapper(of leaf: JSONScanner.Leaf, in bytes: Span<UInt8>) -> Int {
        let wrappers = ReceiptRepairer.wrappers
        return leaf.name.flatMap { name in wrappers.firstIndex { name.matches($0.key, in: bytes) } } ?? wrappers.count
    }

    /// The path of a member: a known wrapper at the top level has its own repair, any other member the same.
    private static func inside(_ leaf: JSONScanner.Leaf, _ wrapper: Int, _ path: Path) -> Path {
        let wrappers = ReceiptRepairer.wrappers
        let isKnown = leaf.depth == 1 && wrapper < wrappers.count
        var inner = path.inside([isKnown ? wrappers[wrapper].repair : .jsonMember])
        inner.preference = min(path.preference, wrapper)
        return inner
    }
}
