import Foundation

extension Span<UInt8> {
    package func copy(_ range: Range<Int>) -> [UInt8] { extracting(range).withUnsafeBufferPointer { [UInt8]($0) } }

    package func equal(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
        guard left.count == right.count, !left.isEmpty else { return left.count == right.count }
        return withUnsafeBufferPointer { bytes in
            let (first, second) = (
                UnsafeBufferPointer(rebasing: bytes[left]), UnsafeBufferPointer(rebasing: bytes[right])
            )
            guard let first = first.baseAddress, let second = second.baseAddress else { return true }
            return memcmp(first, second, left.count) == 0
        }
    }
}

extension [UInt8] {
    /// The bytes without the byte order mark that some programs write before UTF-8.
    package var withoutByteOrderMark: [UInt8] { starts(with: [0xEF, 0xBB, 0xBF]) ? Array(dropFirst(3)) : self }
}

extension String {
    /// The text without a byte order mark, and without whitespace around it.
    package var trimmed: String {
        let text = unicodeScalars.first == "\u{FEFF}" ? unicodeScalars.dropFirst() : unicodeScalars[...]
        let isBlank: (Unicode.Scalar) -> Bool = { $0.properties.isWhitespace || $0 == "\u{200B}" }
        guard let first = text.firstIndex(where: { !isBlank($0) }), let last = text.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(Substring(text[first...last]))
    }
}

extension ArraySlice<UInt8> {
    /// Returns where a text begins; `nil` if it is not contained. `firstRange(of:)` is more than ten times slower,
    /// which matters for texts of megabytes.
    package func start(of text: String.UTF8View) -> Int? {
        guard let first = text.first else { return startIndex }
        var rest = self
        while let start = rest.firstIndex(of: first) {
            rest = rest[start...]
            if rest.starts(with: text) { return start }
            rest = rest.dropFirst()
        }
        return nil
    }
}
