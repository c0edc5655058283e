import COpenSSL

/// Checks that OpenSSL on this system supports the algorithms of old receipts.
///
/// Some systems' policies forbid SHA-1 signatures or short RSA keys. Without them every receipt signed before 2023
/// would look forged.
package enum SelfTest {
    /// - Throws: `unavailable`, naming the missing algorithm.
    package static func run() throws(CryptographyError) {
        try verifiesShortKeys()
        try verifiesOldChains()
    }

    /// RSA-1024 with SHA-1, which signs transactionReceipts of version 2. The test vector was made once, with a key
    /// that was then discarded.
    private static func verifiesShortKeys() throws(CryptographyError) {
        let message = Array("Receipt Bridge".utf8)
        let (publicKeyInfo, signature) = (SelfTestVector.publicKeyInfo, SelfTestVector.signature)
        do throws(CryptographyError) {
            let key = try VerifyingKey(publicKeyInfo: publicKeyInfo.span)
            try key.verify(signature.span, over: message.span, digest: .sha1)
        } catch {
            throw CryptographyError(
                .unavailable, "this system's OpenSSL does not verify RSA-1024 with SHA-1 (\(error.reason))")
        }
    }

    /// Apple's authority of 2013, signed by its root with SHA-1.
    private static func verifiesOldChains() throws(CryptographyError) {
        let anchors = try TrustAnchors.apple()
        for authority in anchors.intermediates {
            let issuer = anchors.roots.first { $0.subject == authority.issuer }
            guard let issuer, let key = X509_get0_pubkey(issuer.x509), X509_verify(authority.x509, key) == 1 else {
                throw .openSSL(.unavailable, "this system's OpenSSL does not verify certificates signed with SHA-1")
            }
        }
    }
}
