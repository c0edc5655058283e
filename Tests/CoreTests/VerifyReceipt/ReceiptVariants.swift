import ReceiptBridgeBase
import ReceiptBridgeSimulator

/// Other encodings of a genuine receipt. The signed content is unchanged, so Apple may accept them as the same
/// receipt.
enum ReceiptVariants {
    /// An App Receipt with one byte after its container.
    static func withTrailingByte(_ receipt: [UInt8]) -> [UInt8] { receipt + [0] }

    /// An App Receipt whose eContent is nested in `depth` constructed OCTET STRINGs.
    static func withNestedContent(_ receipt: [UInt8], depth: Int) -> [UInt8] {
        changing(receipt) { fields in
            let encapsulated = elements(in: fields[2])
            var content = elements(in: encapsulated[1])[0]
            for _ in 0..<depth { content = DEREncoder.value(tag: 0x24, content) }
            fields[2] = DEREncoder.sequence(encapsulated[0], DEREncoder.value(tag: 0xA0, content))
        }
    }

    /// An App Receipt with a revocation list that contains the given number. Decoders ignore such lists.
    static func withRevocationList(_ receipt: [UInt8], _ number: Int) -> [UInt8] {
        changing(receipt) { $0.insert(DEREncoder.value(tag: 0xA1, DEREncoder.integer(Int64(number))), at: 4) }
    }

    /// A transactionReceipt with another text in its outer list, before the last brace.
    static func withOuterText(_ receipt: [UInt8], _ text: String) -> [UInt8] {
        receipt.dropLast() + Array(text.utf8) + [UInt8(ascii: "}")]
    }

    /// Changes the fields of SignedData: version, digestAlgorithms, encapContentInfo, certificates, signerInfos.
    private static func changing(_ receipt: [UInt8], _ change: (inout [[UInt8]]) -> Void) -> [UInt8] {
        let contentInfo = elements(in: receipt)
        var fields = elements(in: elements(in: contentInfo[1])[0])
        change(&fields)
        return DEREncoder.sequence(contentInfo[0], DEREncoder.value(tag: 0xA0, DEREncoder.sequence(fields)))
    }

    /// Returns the elements inside a DER element, each with tag and length.
    private static func elements(in element: [UInt8]) -> [[UInt8]] {
        var rest = element[header(of: element[...]).content...]
        var elements: [[UInt8]] = []
        while !rest.isEmpty {
            let end = header(of: rest).end
            elements.append(Array(rest[..<end]))
            rest = rest[end...]
        }
        return elements
    }

    private static func header(of bytes: ArraySlice<UInt8>) -> (content: Int, end: Int) {
        let first = bytes[bytes.startIndex + 1]
        let width = first < 0x80 ? 0 : Int(first & 0x7F)
        let content = bytes.startIndex + 2 + width
        let length = first < 0x80 ? Int(first) : bytes[content - width..<content].reduce(0) { $0 << 8 | Int($1) }
        return (content, content + length)
    }
}
