/// The trusted roots, and known intermediates that help to build a chain to them.
package struct TrustAnchors: Sendable {
    /// Pinned roots. A chain is accepted only if it ends in one of these.
    package let roots: [Certificate]
    /// Known intermediates, for signers that come without theirs (transactionReceipts). They are not trusted by
    /// themselves: each must be issued by a root.
    package let intermediates: [Certificate]

    package init(roots: [Certificate], intermediates: [Certificate]) {
        self.roots = roots
        self.intermediates = intermediates
    }

    /// Apple's roots and the RSA intermediates that Apple has published, from
    /// https://www.apple.com/certificateauthority/. They are parsed once in a process.
    package static func apple() throws(CryptographyError) -> TrustAnchors { try parsed.get() }

    private static let parsed = Result { () throws(CryptographyError) -> TrustAnchors in
        TrustAnchors(
            roots: try certificates(
                PackageResources.AppleIncRootCertificate_cer,
                PackageResources.AppleRootCAG2_cer,
                PackageResources.AppleRootCAG3_cer),
            intermediates: try certificates(
                PackageResources.AppleiTunesStoreCA2009_cer,
                PackageResources.WWDR2008_cer,
                PackageResources.WWDR2013_cer,
                PackageResources.WWDRG5_cer,
                PackageResources.WWDRG7_cer,
                PackageResources.WWDRG8_cer))
    }

    /// Returns a copy with additional certificates, for example test roots, or intermediates that are newer than this
    /// program.
    package func adding(roots: [Certificate], intermediates: [Certificate]) -> TrustAnchors {
        TrustAnchors(roots: self.roots + roots, intermediates: self.intermediates + intermediates)
    }

    private static func certificates(_ encodings: [UInt8]...) throws(CryptographyError) -> [Certificate] {
        var certificates: [Certificate] = []
        for encoding in encodings { certificates.append(try Certificate(der: encoding.span)) }
        return certificates
    }
}
