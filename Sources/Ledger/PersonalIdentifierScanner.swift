import Foundation
import GRDB

/// What in a text can name a person: numbers, and UUIDs in lower case. Signed texts are opened, those inside them, too.
enum PersonalIdentifierScanner {
    /// Signed texts within one another: a notification, and the transaction in it.
    private static let maximumDepth = 3
    /// Identifiers are shorter.
    private static let maximumDigits = 32

    static func all(in bytes: some Collection<UInt8>) -> Set<String> {
        var words: Set<String> = []
        collect(Array(bytes), depth: 0, into: &words)
        return words
    }

    /// Of what stands in a column, whether TEXT or a BLOB.
    static func all(in value: DatabaseValue) -> Set<String> {
        switch value.storage {
        case .string(let text): all(in: text.utf8)
        case .blob(let bytes): all(in: bytes)
        default: []
        }
    }

    private static func collect(_ bytes: [UInt8], depth: Int, into words: inout Set<String>) {
        for run in bytes.split(whereSeparator: { !belongsToWord($0) }) {
            if let word = word(run) {
                words.insert(word)
            } else if depth < maximumDepth, let payload = payload(of: run) {
                collect(payload, depth: depth + 1, into: &words)
            }
        }
    }

    /// Letters, digits, and what base64url and the compact form of a JWS have besides.
    private static func belongsToWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    private static func word(_ run: ArraySlice<UInt8>) -> String? {
        if run.count <= maximumDigits, run.allSatisfy({ (0x30...0x39).contains($0) }) {
            return String(decoding: run, as: UTF8.self)
        }
        guard run.count == 36 else { return nil }
        return UUID(uuidString: String(decoding: run, as: UTF8.self))?.uuidString.lowercased()
    }

    /// Of a compact JWS: its middle part.
    private static func payload(of run: ArraySlice<UInt8>) -> [UInt8]? {
        let parts = run.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var text = parts[1].map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        text += Array(repeating: UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
        return Data(base64Encoded: Data(text)).map { [UInt8]($0) }
    }
}
