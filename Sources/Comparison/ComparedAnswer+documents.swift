import JSONReading

extension ComparedAnswer {
    /// Limit on the JSON values of one document: enough for 5,000 rows in both lists with all their keys.
    static let maximumValues = 500_000

    /// Returns the outline of the single JSON object in `bytes`, or throws an error that says what was found instead.
    /// For example, an HTML error page throws ``ComparisonError/Code/html``.
    static func outline(of bytes: [UInt8], at path: String) throws(ComparisonError) -> JSONOutline {
        guard bytes.count <= maximumSize else {
            throw ComparisonError(code: .tooLarge, place: path, reason: "larger than \(maximumSize) bytes")
        }
        guard let first = bytes.first(where: { $0 > 0x20 }) else {
            throw ComparisonError(code: .empty, place: path, reason: "the document is empty")
        }
        guard first != UInt8(ascii: "<") else {
            throw ComparisonError(code: .html, place: path, reason: "an HTML page instead of JSON")
        }
        do throws(JSONStructureError) {
            return try JSONOutline(bytes, maximumNodes: maximumValues)
        } catch {
            let code: ComparisonError.Code = error.expected == "fewer values" ? .tooLarge : .malformed
            throw ComparisonError(code: code, place: path, reason: "not a JSON object: \(error)")
        }
    }
}
