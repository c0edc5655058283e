import Foundation

/// Parses JSON with Foundation, and brings Apple's responses into a form that can be compared.
enum JSONReader {
    static func strings(_ json: String) throws -> [String] {
        try JSONDecoder().decode([String].self, from: Data(json.utf8))
    }

    /// Removes white space between tokens and unescapes `/`; the order of the members is kept.
    static func compact(_ json: String) -> String {
        var result: [UInt8] = []
        var isInString = false
        var isEscaped = false
        for byte in json.utf8 {
            if isEscaped {
                if byte == UInt8(ascii: "/") { result.removeLast() }
                result.append(byte)
                isEscaped = false
            } else if isInString || !" \t\r\n".utf8.contains(byte) {
                result.append(byte)
                if byte == UInt8(ascii: "\"") { isInString.toggle() }
                isEscaped = isInString && byte == UInt8(ascii: "\\")
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns the object under the first `"key":` of compact JSON, with its braces.
    static func object(_ key: String, in json: String) -> String? {
        guard let start = json.range(of: "\"\(key)\":{") else { return nil }
        var depth = 0
        var index = json.index(before: start.upperBound)
        repeat {
            if json[index] == "{" { depth += 1 }
            if json[index] == "}" { depth -= 1 }
            index = json.index(after: index)
        } while depth > 0 && index < json.endIndex
        return String(json[json.index(before: start.upperBound)..<index])
    }
}
