/// The extensions of a signer's certificate, if all of them are of kinds that Apple's signers have.
///
/// ```
/// Extension ::= SEQUENCE { extnID OBJECT IDENTIFIER, critical BOOLEAN DEFAULT FALSE, extnValue OCTET STRING }
/// ```
/// RFC 5280, 4.1 and 4.2.
struct CertificateExtensions {
    /// The range of the issuer's key identifier; `nil` without the extension.
    private(set) var authorityKeyIdentifier: Range<Int>?
    /// The ranges of the identifiers below Apple's arc, 1.2.840.113635.100.
    private var markers: [Range<Int>] = []

    /// Maximum number of extensions; Apple's certificates have about eight.
    private static let maximumCount = 32
    /// 2.5.29, whose next byte is the number of a standard extension.
    private static let standardArc: [UInt8] = [0x55, 0x1D]
    /// 1.3.6.1.5.5.7.1.1, authorityInfoAccess.
    private static let informationAccess: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x01]
    /// 1.2.840.113635.100
    private static let appleArc: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64]

    /// Reads the list. Returns `nil` if it holds another kind of extension, one kind twice, a critical extension that
    /// is not understood, or a certificate authority.
    init?(_ list: BERElement, in bytes: borrowing Span<UInt8>) throws(BERError) {
        var seen: UInt64 = 0
        var count = 0
        var cursor = list.inside
        while !cursor.isAtEnd {
            count += 1
            guard count <= Self.maximumCount else { return nil }
            var fields = try cursor.next(BERTag.sequence, in: bytes).inside
            let identifier = try fields.next(BERTag.objectIdentifier, in: bytes)
            let critical = try fields.nextIfPresent(0x01, in: bytes)
            let value = try fields.next(BERTag.octetString, in: bytes)
            try fields.finish()
            if identifier.begins(with: Self.standardArc, in: bytes), identifier.content.count == 3 {
                let number = bytes[identifier.contentStart + 2]
                guard number < 64, seen & 1 << number == 0, try read(number, value, in: bytes) else { return nil }
                seen |= 1 << number
                // keyUsage, basicConstraints and certificatePolicies may be critical.
                guard critical == nil || [15, 19, 32].contains(number) else { return nil }
            } else if identifier.begins(with: Self.appleArc, in: bytes) {
                guard critical == nil else { return nil }
                markers.append(identifier.content)
            } else {
                guard critical == nil, identifier.holds(Self.informationAccess, in: bytes) else { return nil }
            }
        }
    }

    /// Reads an extension of RFC 5280, 4.2.1. Returns `false` if it is left to OpenSSL.
    private mutating func read(
        _ number: UInt8, _ value: BERElement, in bytes: borrowing Span<UInt8>
    ) throws(BERError) -> Bool {
        switch number {
        case 14: return value.begins(with: [BERTag.octetString], in: bytes)
        case 15: return value.begins(with: [BERTag.bitString], in: bytes) && (4...5).contains(value.content.count)
        case 19: return value.holds([BERTag.sequence, 0], in: bytes)
        case 31, 32: return value.begins(with: [BERTag.sequence], in: bytes)
        case 35:
            // Only a key identifier, without issuer and serial number.
            var outer = value.inside
            var fields = try outer.next(BERTag.sequence, in: bytes).inside
            authorityKeyIdentifier = try fields.next(0x80, in: bytes).content
            return fields.isAtEnd && outer.isAtEnd
        default: return false
        }
    }

    func marker(_ identifier: [UInt8], in bytes: borrowing Span<UInt8>) -> Bool {
        for range in markers where bytes.holds(identifier, at: range) { return true }
        return false
    }
}

extension BERElement {
    fileprivate func begins(with prefix: [UInt8], in bytes: borrowing Span<UInt8>) -> Bool {
        content.count >= prefix.count && bytes.holds(prefix, at: contentStart..<contentStart + prefix.count)
    }
}
