/// Lines of base64 of one width, with other characters between them.
enum LineMarks {
    /// The widths that are considered. Mail has 76, PEM 64, and editors wrap at 60 to 120.
    static let widths = 16...256

    /// Returns the characters of the first line, of all lines of the most common width, and of the last one; `nil` if
    /// there are fewer than four lines. What is between them is dropped, also characters of base64 between others.
    /// `limit` is the number of characters; `.max` if it is not known.
    static func unmarked(_ text: [UInt8], _ limit: Int) -> (symbols: [UInt8], end: Int)? {
        var counts = [Int](repeating: 0, count: widths.upperBound + 1)
        forEachRun(in: text) { run in
            if widths.contains(run.count) { counts[run.count] += 1 }
            return true
        }
        guard let width = widths.max(by: { $0 * counts[$0] < $1 * counts[$1] }), counts[width] >= 3 else { return nil }
        var symbols: [UInt8] = []
        var end = 0
        // The runs since the last line, and between the two lines before it.
        var (gap, lastGap) = (0, 0)
        var tail: ArraySlice<UInt8> = []
        forEachRun(in: text) { run in
            let isLine = run.count == width || symbols.isEmpty
            guard symbols.count + (isLine ? run.count : 0) <= limit else { return false }
            if isLine {
                symbols += run
                (gap, lastGap, tail, end) = (0, gap, [], run.endIndex)
            } else {
                let isLast = limit == .max ? gap == lastGap : symbols.count + run.count == limit
                if isLast, tail.isEmpty || gap == lastGap { tail = run }
                gap += 1
            }
            return symbols.count < limit
        }
        guard symbols.count < limit, !tail.isEmpty else { return (symbols.compactMap(Base64Symbol.standard), end) }
        return ((symbols + tail).compactMap(Base64Symbol.standard), tail.endIndex)
    }

    /// Passes each run of characters of base64, until `body` returns `false`.
    private static func forEachRun(in text: [UInt8], _ body: (ArraySlice<UInt8>) -> Bool) {
        var place = 0
        while place < text.count {
            let start = place
            while place < text.count, Base64Symbol.standard(text[place]) != nil { place += 1 }
            if start < place {
                guard body(text[start..<place]) else { return }
            } else {
                place += 1
            }
        }
    }
}

/// What is left of line breaks whose backslashes were removed: `rn` or `n` after each line, or another mark of base64
/// characters that is the same after each line of one width.
enum BreakMarks {
    /// Maximum length of a mark, for example `u000du000a`.
    private static let maximumMark = 12
    private static let maximumCount = 8

    /// Returns the readings in which something is after every line and was dropped. `limit` is the number of characters
    /// that remain; `.max` if it is not known.
    static func unmarked(_ text: [UInt8], _ limit: Int) -> [[UInt8]] {
        guard limit == .max || text.count > limit else { return [] }
        var readings: [[UInt8]] = []
        // Bounds the comparisons of a text that repeats itself.
        var budget = 4 * text.count + 4_096
        func add(_ reading: [UInt8]?, _ marks: [[UInt8]]) {
            guard let reading else { return }
            // There may be one mark more after the last line.
            if limit == .max, let last = marks.first(where: { reading.suffix($0.count).elementsEqual($0) }) {
                readings.append(reading.dropLast(last.count))
            }
            readings.append(reading)
        }
        for width in LineMarks.widths where 3 * width < text.count {
            guard budget > 0, readings.count < maximumCount else { break }
            add(reading(of: text, width, limit, &budget) { breakLength(in: text, at: $0) }, breaks)
            // Each mark has the same length, so it follows from the number of lines.
            let lines = (limit == .max ? 0 : limit - 1) / width
            for length in 1...maximumMark where isPossible(length, lines: lines, text.count, limit) {
                let mark = Array(text[width..<width + length])
                add(reading(of: text, width, limit, &budget) { text[$0...].starts(with: mark) ? length : nil }, [mark])
            }
        }
        return readings
    }

    /// Returns the text without what is left of one to four line breaks at its end.
    static func withoutLast(_ text: [UInt8]) -> [[UInt8]] {
        var (readings, rest): ([[UInt8]], ArraySlice<UInt8>) = ([], text[...])
        while readings.count < 4, let last = breaks.first(where: { rest.suffix($0.count).elementsEqual($0) }) {
            rest = rest.dropLast(last.count)
            readings.append(Array(rest))
        }
        return readings
    }

    /// Returns whether marks of a length can be what is too much: one after each line, and perhaps one after the last.
    private static func isPossible(_ length: Int, lines: Int, _ count: Int, _ limit: Int) -> Bool {
        limit == .max || count - limit == lines * length || count - limit == (lines + 1) * length
    }

    /// What is left of `\r\n` and `\n` without the backslashes.
    private static let breaks = [Array("rn".utf8), Array("n".utf8)]

    /// Returns the length of the rest of a line break at a place; `nil` if there is none.
    private static func breakLength(in text: [UInt8], at place: Int) -> Int? {
        breaks.first { text[place...].starts(with: $0) }?.count
    }

    /// Returns the text without the marks; `nil` if one is missing after a line.
    private static func reading(
        of text: [UInt8], _ width: Int, _ limit: Int, _ budget: inout Int, mark: (Int) -> Int?
    ) -> [UInt8]? {
        var marks: [Range<Int>] = []
        var (place, remaining) = (width, limit == .max ? Int.max : limit - width)
        while place < text.count, remaining > 0 {
            budget -= 1
            guard let length = mark(place) else { return nil }
            budget -= length
            marks.append(place..<place + length)
            place += length + min(width, remaining)
            remaining -= min(width, remaining)
        }
        // After the last line, there may be one mark more.
        if limit != .max {
            guard place <= text.count else { return nil }
            if place < text.count, let length = mark(place) { marks.append(place..<place + length) }
            guard text.count - marks.reduce(0, { $0 + $1.count }) == limit else { return nil }
        }
        guard marks.count >= 3 else { return nil }
        var plain: [UInt8] = []
        plain.reserveCapacity(text.count)
        var start = 0
        for mark in marks {
            plain += text[start..<mark.lowerBound]
            start = mark.upperBound
        }
        return plain + text[start...]
    }
}
