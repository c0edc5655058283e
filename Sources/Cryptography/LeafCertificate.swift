import ReceiptBridgeBase

/// A signer's certificate of the usual form, read from its bytes without OpenSSL: an RSA key, a signature of RSA with
/// SHA-1 or SHA-256, and only extensions whose meaning is known here. Decoding it with OpenSSL takes five times as long
/// as verifying its signature.
///
/// The initializer never accepts what OpenSSL would refuse: it returns `nil` for every other form, and the caller then
/// leaves the decision, and the error, to OpenSSL. Nothing here is trusted before the signature is verified.
struct LeafCertificate {
    /// The range of tbsCertificate with its tag and length, which the signature covers.
    let signedPart: Range<Int>
    let digest: DigestAlgorithm
    /// The range of the signature, without the BIT STRING's first byte.
    let signature: Range<Int>
    /// The range of the issuer's Name with its tag and length.
    let issuer: Range<Int>
    /// Seconds since 1970, both bounds inclusive.
    let validity: ClosedRange<Int64>
    /// The ranges of the numbers, most significant byte first.
    let key: (modulus: Range<Int>, exponent: Range<Int>)
    /// The range of the issuer's key identifier; `nil` if the certificate does not name it.
    let authorityKeyIdentifier: Range<Int>?
}

extension LeafCertificate {
    /// Reads the certificate in a range of bytes. It must have the marker of the role.
    init?(at range: Range<Int>, in bytes: borrowing Span<UInt8>, role: SignerRole) {
        guard range.count <= Certificate.maximumSize else { return nil }
        do throws(BERError) {
            guard let leaf = try Self.read(range, in: bytes, role: role) else { return nil }
            self = leaf
        } catch {
            return nil
        }
    }

    /// AlgorithmIdentifier of sha1WithRSAEncryption, with its tag and length.
    private static let sha1WithRSA: [UInt8] = [
        0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x05, 0x05, 0x00,
    ]
    /// AlgorithmIdentifier of sha256WithRSAEncryption, with its tag and length.
    private static let sha256WithRSA: [UInt8] = [
        0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0B, 0x05, 0x00,
    ]
    /// AlgorithmIdentifier of rsaEncryption, with its tag and length.
    private static let rsaEncryption: [UInt8] = [
        0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
    ]

    /// Reads the fields of RFC 5280, 4.1. Returns `nil` for a form that is left to OpenSSL.
    private static func read(
        _ range: Range<Int>, in bytes: borrowing Span<UInt8>, role: SignerRole
    ) throws(BERError) -> LeafCertificate? {
        var outermost = BERCursor(range)
        let certificate = try outermost.next(BERTag.sequence, in: bytes)
        try outermost.finish()
        var parts = certificate.inside
        let signedPart = try parts.next(BERTag.sequence, in: bytes)
        let algorithm = try parts.next(BERTag.sequence, in: bytes)
        let signature = try parts.next(BERTag.bitString, in: bytes)
        try parts.finish()
        // The lengths that the signature does not cover must be in DER, so that a certificate has one encoding.
        guard certificate.hasShortestLength, signature.hasShortestLength, signature.content.count > 1,
            bytes[signature.contentStart] == 0
        else { return nil }
        let isSHA1 = bytes.holds(sha1WithRSA, at: algorithm.whole)
        guard isSHA1 || bytes.holds(sha256WithRSA, at: algorithm.whole) else { return nil }

        var fields = signedPart.inside
        let version = try fields.next(BERTag.context(0), in: bytes)
        guard version.holds([0x02, 0x01, 0x02], in: bytes) else { return nil }
        guard !(try fields.next(BERTag.integer, in: bytes)).content.isEmpty else { return nil }
        guard bytes.holds(isSHA1 ? sha1WithRSA : sha256WithRSA, at: try fields.next(in: bytes).whole) else {
            return nil
        }
        let issuer = try fields.next(BERTag.sequence, in: bytes)
        var period = try fields.next(BERTag.sequence, in: bytes).inside
        let (from, to) = (try period.next(in: bytes), try period.next(in: bytes))
        try period.finish()
        guard let from = seconds(of: from, in: bytes), let to = seconds(of: to, in: bytes), from <= to else {
            return nil
        }
        let subject = try fields.next(BERTag.sequence, in: bytes)
        // A self-issued certificate is left to OpenSSL too.
        guard !bytes.equal(issuer.whole, subject.whole), let key = try rsaKey(&fields, in: bytes) else { return nil }
        var extensions = try fields.next(BERTag.context(3), in: bytes).inside
        try fields.finish()
        let list = try extensions.next(BERTag.sequence, in: bytes)
        try extensions.finish()
        guard let known = try CertificateExtensions(list, in: bytes), known.marker(role.leafMarkerContent, in: bytes)
        else { return nil }
        return LeafCertificate(
            signedPart: signedPart.whole, digest: isSHA1 ? .sha1 : .sha256,
            signature: signature.contentStart + 1..<signature.contentEnd, issuer: issuer.whole, validity: from...to,
            key: key, authorityKeyIdentifier: known.authorityKeyIdentifier)
    }

    /// Reads SubjectPublicKeyInfo. Returns `nil` unless it is an RSA key that ``PublicKeyPolicy`` allows.
    private static func rsaKey(
        _ fields: inout BERCursor, in bytes: borrowing Span<UInt8>
    ) throws(BERError) -> (modulus: Range<Int>, exponent: Range<Int>)? {
        let info = try fields.next(BERTag.sequence, in: bytes)
        guard (try? PublicKeyPolicy.check(info, in: bytes)) != nil else { return nil }
        var parts = info.inside
        guard bytes.holds(rsaEncryption, at: try parts.next(in: bytes).whole) else { return nil }
        let key = try parts.next(BERTag.bitString, in: bytes)
        try parts.finish()
        var outer = BERCursor(key.contentStart + 1..<key.contentEnd)
        var numbers = try outer.next(BERTag.sequence, in: bytes).inside
        try outer.finish()
        let (modulus, exponent) = (
            try numbers.next(BERTag.integer, in: bytes), try numbers.next(BERTag.integer, in: bytes)
        )
        try numbers.finish()
        return (modulus.content, exponent.content)
    }

    /// Returns the seconds since 1970 of a UTCTime `YYMMDDHHMMSSZ` or a GeneralizedTime `YYYYMMDDHHMMSSZ` (RFC 5280,
    /// 4.1.2.5); `nil` for any other form.
    private static func seconds(of time: BERElement, in bytes: borrowing Span<UInt8>) -> Int64? {
        let isShort = time.tag == 0x17
        guard isShort ? time.content.count == 13 : time.tag == 0x18 && time.content.count == 15,
            bytes[time.contentEnd - 1] == UInt8(ascii: "Z")
        else { return nil }
        var pairs: [Int64] = []
        for position in stride(from: time.contentStart, to: time.contentEnd - 1, by: 2) {
            let (tens, ones) = (bytes[position] &- 0x30, bytes[position + 1] &- 0x30)
            guard tens < 10, ones < 10 else { return nil }
            pairs.append(Int64(tens) * 10 + Int64(ones))
        }
        let year = isShort ? pairs[0] + (pairs[0] < 50 ? 2000 : 1900) : pairs[0] * 100 + pairs[1]
        let rest = pairs.suffix(5)
        let (month, day) = (rest[rest.startIndex], rest[rest.startIndex + 1])
        let (hour, minute, second) = (rest[rest.startIndex + 2], rest[rest.startIndex + 3], rest[rest.startIndex + 4])
        guard (1...12).contains(month), day >= 1, day <= CivilTime.days(inMonth: month, ofYear: year), hour < 24,
            minute < 60, second < 60
        else { return nil }
        return CivilTime.seconds(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    }
}

extension BERElement {
    /// Whether the length is encoded in as few bytes as possible, as DER requires (ITU-T X.690, 10.1).
    fileprivate var hasShortestLength: Bool {
        let header = contentStart - start
        switch contentEnd - contentStart {
        case ..<0x80: return header == 2
        case ..<0x100: return header == 3
        case ..<0x1_0000: return header == 4
        default: return false
        }
    }
}

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
