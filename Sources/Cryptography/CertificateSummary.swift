/// The byte ranges of the certificate fields that are needed to select a certificate from a CMS certificate set.
/// Nothing is decoded.
///
/// ```
/// Certificate    ::= SEQUENCE { tbsCertificate TBSCertificate, signatureAlgorithm …, signatureValue … }
/// TBSCertificate ::= SEQUENCE { version [0] OPTIONAL, serialNumber INTEGER, signature …, issuer Name,
///                               validity …, subject Name, subjectPublicKeyInfo …, … }
/// ```
/// RFC 5280, 4.1.
package struct CertificateSummary: Sendable {
    /// Range of the whole certificate in the buffer it was read from.
    package let whole: Range<Int>
    /// Range of the content of serialNumber.
    package let serialNumber: Range<Int>
    /// Range of the issuer's Name, including tag and length.
    package let issuer: Range<Int>
    /// Range of the subject's Name, including tag and length.
    package let subject: Range<Int>
    let publicKeyInfo: BERElement

    package init(_ certificate: BERElement, in bytes: borrowing Span<UInt8>) throws(BERError) {
        guard certificate.tag == BERTag.sequence else { throw BERError(.unexpectedTag, at: certificate.start) }
        var outer = certificate.inside
        var fields = try outer.next(BERTag.sequence, in: bytes).inside
        _ = try fields.nextIfPresent(BERTag.context(0), in: bytes)
        serialNumber = try fields.next(BERTag.integer, in: bytes).content
        _ = try fields.next(BERTag.sequence, in: bytes)
        issuer = try fields.next(BERTag.sequence, in: bytes).whole
        _ = try fields.next(BERTag.sequence, in: bytes)
        subject = try fields.next(BERTag.sequence, in: bytes).whole
        publicKeyInfo = try fields.next(BERTag.sequence, in: bytes)
        whole = certificate.whole
    }
}
