import Cryptography

/// Fuzzes certificates and keys from an untrusted source. CVE-2026-43823 was such a key in another library.
enum CertificateTarget {
    static func run(_ bytes: [UInt8]) {
        let signature = [UInt8](repeating: 1, count: 256)
        for digest in [DigestAlgorithm.sha1, .sha256] {
            if let key = try? VerifyingKey(publicKeyInfo: bytes.span) {
                let holds: Void? = try? key.verify(signature.span, over: bytes.span, digest: digest)
                require(holds == nil, "no key verifies a signature of ones")
            }
        }
        if let certificate = try? Certificate(der: bytes.span) {
            require(certificate.der == bytes, "a certificate has only one encoding")
            _ = certificate.carries(SignerRole.storeReceipt.leafMarker)
            _ = try? certificate.publicKey()
        }
        let signer = PresentedSigner(leaf: bytes.indices, authorities: [bytes.indices])
        for role in [SignerRole.storeReceipt, .purchaseReceipt] {
            let key = try? FuzzTrust.seeds.key(of: signer, in: bytes.span, role: role, time: .at(1_795_262_400))
            require(key == nil, "no seed is the certificate of a receipt signer")
        }
    }
}
