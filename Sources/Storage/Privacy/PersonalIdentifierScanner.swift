import ReceiptBridgeBase
import Foundation

/// Finds texts that can identify a person: numbers, and UUIDs in lower case. The payload of each JWS is scanned as
/// well.
package enum PersonalIdentifierScanner {
    /// Maximum nesting of JWS. For example, a notification contains the JWS of a transaction.
    private static let maximumDepth = 3
    /// Maximum number of digits of an identifier. Longer numbers are ignored.
    private static let maximumDigits = 32

    /// Returns all identifiers in a text, UUIDs in lower case.
    package static func all(in bytes: some Collection<UInt8>) -> Set<String> {
        var identifiers: Set<String> = []
        collect(Array(bytes), depth: 0, into: &identifiers)
        return identifiers
    }

    private static func collect(_ bytes: [UInt8], depth: Int, into identifiers: inout Set<String>) {
        for run in bytes.split(whereSeparator: { !isWordByte($0) }) {
            if let identifier = identifier(in: run) {
                identifiers.insert(identifier)
            } else if depth < maximumDepth, let payload = JWSParts.payload(of: run) {
                collect(payload, depth: depth + 1, into: &identifiers)
            }
        }
    }

    /// Matches letters, digits and the other characters of base64url and of the compact form of a JWS.
    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Returns the run if it is a number of at most ``maximumDigits`` digits, or in lower case if it is a UUID; `nil`
    /// otherwise.
    private static func identifier(in run: ArraySlice<UInt8>) -> String? {
        if run.count <= maximumDigits, run.allSatisfy({ (0x30...0x39).contains($0) }) {
            return String(decoding: run, as: UTF8.self)
        }
        guard run.count == 36 else { return nil }
        return UUID(uuidString: String(decoding: run, as: UTF8.self))?.uuidString.lowercased()
    }
}
