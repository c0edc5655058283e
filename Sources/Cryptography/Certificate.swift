import ReceiptBridgeBase
import ReceiptBridgeCOpenSSL

/// An X.509 certificate. Its public key was checked by ``PublicKeyPolicy`` before OpenSSL parsed it.
///
/// `@unchecked Sendable`: the X509 object is never changed after `init`, and OpenSSL caches its extensions under its
/// own lock.
package final class Certificate: @unchecked Sendable {
    /// Maximum size in bytes. The longest certificate that Apple signs with has 1,482 bytes.
    package static let maximumSize = 16_384

    let x509: OpaquePointer
    /// The encoding as it was read.
    package let der: [UInt8]
    /// The issuer's Name in DER, including tag and length.
    package let issuer: [UInt8]
    /// The subject's Name in DER, including tag and length.
    package let subject: [UInt8]
    /// The SubjectPublicKeyInfo in DER, including tag and length.
    let publicKeyInfo: [UInt8]
    /// Validity period in seconds since 1970, both bounds inclusive.
    package let validity: ClosedRange<Int64>

    /// Parses exactly one DER certificate of at most ``maximumSize`` bytes, otherwise throws `malformed`. Throws
    /// `keyRefused` or `unsupported` if its key is not allowed.
    package init(der bytes: borrowing Span<UInt8>) throws(CryptographyError) {
        guard bytes.count <= Self.maximumSize else {
            throw CryptographyError(
                .malformed, "the certificate has \(bytes.count) bytes; the limit is \(Self.maximumSize)")
        }
        let summary: CertificateSummary
        do throws(BERError) {
            var cursor = BERCursor(0..<bytes.count)
            summary = try CertificateSummary(cursor.next(in: bytes), in: bytes)
            try cursor.finish()
        } catch {
            throw CryptographyError(.malformed, "certificate: \(error)")
        }
        try PublicKeyPolicy.check(summary.publicKeyInfo, in: bytes)
        let parsed = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var start = buffer.baseAddress
            return d2i_X509(nil, &start, buffer.count)
        }
        guard let parsed else { throw .openSSL(.malformed, "the certificate cannot be parsed") }
        guard let validity = Self.validity(of: parsed), X509_get0_pubkey(parsed) != nil else {
            X509_free(parsed)
            throw .openSSL(.malformed, "the certificate has no readable validity or key")
        }
        // The outermost lengths are not covered by the signature. A non-DER encoding of them would make the same
        // certificate look like a different one to a cache.
        guard Int(i2d_X509(parsed, nil)) == bytes.count else {
            X509_free(parsed)
            throw CryptographyError(.malformed, "the certificate is not encoded in DER")
        }
        self.x509 = parsed
        self.validity = validity
        self.der = bytes.copy(0..<bytes.count)
        self.issuer = bytes.copy(summary.issuer)
        self.subject = bytes.copy(summary.subject)
        self.publicKeyInfo = bytes.copy(summary.publicKeyInfo.whole)
    }

    deinit {
        X509_free(x509)
    }

    package var isSelfIssued: Bool { issuer == subject }

    /// The subject's common name, for display; `nil` if it has none.
    package var commonName: String? {
        let name = X509_get_subject_name(x509)
        guard let entry = X509_NAME_get_entry(name, X509_NAME_get_index_by_NID(name, NID_commonName, -1)) else {
            return nil
        }
        var text: UnsafeMutablePointer<UInt8>?
        let length = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry))
        guard length >= 0, let text else { return nil }
        defer { CRYPTO_free(text, #file, #line) }
        return String(decoding: UnsafeBufferPointer(start: text, count: Int(length)), as: UTF8.self)
    }

    /// Returns the certificate's public key, which stays usable after the certificate is released.
    package func publicKey() throws(CryptographyError) -> VerifyingKey {
        guard let key = X509_get_pubkey(x509) else {
            throw .openSSL(.malformed, "the key of the certificate cannot be read")
        }
        return VerifyingKey(owning: key)
    }

    var isAuthority: Bool { X509_get_extension_flags(x509) & UInt32(EXFLAG_CA) != 0 }

    /// Returns whether the certificate has an extension with this dotted OID, whatever its value.
    package func hasExtension(_ oid: String) -> Bool {
        guard let object = OBJ_txt2obj(oid, 1) else { return false }
        defer { ASN1_OBJECT_free(object) }
        return X509_get_ext_by_OBJ(x509, object, -1) >= 0
    }

    /// The content of the subjectKeyIdentifier extension; `nil` if there is none.
    var subjectKeyIdentifier: [UInt8]? { Self.bytes(of: X509_get0_subject_key_id(x509)) }

    private var authorityKeyIdentifier: [UInt8]? { Self.bytes(of: X509_get0_authority_key_id(x509)) }

    /// Returns whether another certificate can be the issuer: it has the issuer's name, and its key is the one that
    /// this certificate names. Apple has issued several intermediates with the same name and different keys.
    func namesAsIssuer(_ authority: Certificate) -> Bool {
        guard authority.subject == issuer else { return false }
        guard let named = authorityKeyIdentifier, let key = authority.subjectKeyIdentifier else { return true }
        return named == key
    }

    private static func bytes(of text: UnsafePointer<ASN1_OCTET_STRING>?) -> [UInt8]? {
        guard let text else { return nil }
        return Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(text), count: Int(ASN1_STRING_length(text))))
    }

    /// Apple signed with SHA-1 until January 2024, so it is accepted. MD5 and other algorithms are refused.
    var hasAcceptedSignatureAlgorithm: Bool {
        [
            NID_sha1WithRSAEncryption, NID_sha256WithRSAEncryption, NID_sha384WithRSAEncryption,
            NID_sha512WithRSAEncryption, NID_ecdsa_with_SHA256, NID_ecdsa_with_SHA384,
        ].contains(X509_get_signature_nid(x509))
    }

    private static func validity(of x509: OpaquePointer) -> ClosedRange<Int64>? {
        guard let from = seconds(X509_get0_notBefore(x509)), let to = seconds(X509_get0_notAfter(x509)), from <= to
        else { return nil }
        return from...to
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        guard let epoch = ASN1_TIME_set(nil, 0) else { return nil }
        defer { ASN1_TIME_free(epoch) }
        var days: CInt = 0
        var seconds: CInt = 0
        guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
        return Int64(days) * Seconds.day + Int64(seconds)
    }
}

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

    /// Reads exactly one certificate; `nil` if the bytes are something else.
    package init?(at range: Range<Int>, in bytes: borrowing Span<UInt8>) {
        do throws(BERError) {
            var cursor = BERCursor(range)
            try self.init(cursor.next(in: bytes), in: bytes)
            try cursor.finish()
        } catch {
            return nil
        }
    }

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
