package import ReceiptBridgeCryptography
import Foundation
package import ReceiptBridgeSimulator

/// A listener's certificate and key in the files that an operator has, with a CA of its own.
package struct ListenerPair: Sendable {
    package let certificate: [UInt8]
    package let authority: [UInt8]
    package let key: SigningKey

    /// - Parameters:
    ///     - key: key of the listener, or `nil` for a new P-256 key.
    ///     - host: DNS name in the certificate, in addition to 127.0.0.1, or `nil` for a certificate without any name.
    package init(key: SigningKey? = nil, host: String? = "receipts.example", validity: Validity = .wide) throws {
        let authorityKey = try Self.authorityKey.get()
        // A different name each time, because all CAs share a key and clients must not mistake one for
        // another.
        let issuer = DistinguishedName(commonName: UUID().uuidString, organization: "Test")
        self.key = try key ?? .p256()
        authority = try CertificateBlueprint(
            issuer: issuer, subject: issuer, publicKeyInfo: authorityKey.publicKeyInfo,
            extensions: [
                CertificateBlueprint.entry(
                    Self.basicConstraints, critical: true,
                    DEREncoder.sequence(DEREncoder.boolean(true)))
            ]
        ).der(signedBy: authorityKey)
        var blueprint = CertificateBlueprint(
            issuer: issuer, subject: DistinguishedName(commonName: "Listener", organization: "Test"),
            publicKeyInfo: self.key.publicKeyInfo,
            extensions: host.map { [CertificateBlueprint.entry("2.5.29.17", Self.names($0))] } ?? [
                CertificateBlueprint.entry(Self.basicConstraints, DEREncoder.sequence())
            ])
        blueprint.validity = validity
        certificate = try blueprint.der(signedBy: authorityKey)
    }

    private static let basicConstraints = "2.5.29.19"
    private static let authorityKey = Result { try SigningKey.rsa(bits: 2048) }

    /// Encodes `GeneralNames`; dNSName has the tag [2], iPAddress [7].
    private static func names(_ host: String) -> [UInt8] {
        DEREncoder.sequence(
            DEREncoder.primitiveContext(2, Array(host.utf8)), DEREncoder.primitiveContext(7, [127, 0, 0, 1]))
    }

    private static func pem(_ der: [UInt8]) -> String {
        let text = Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n"
    }

    /// Certificate and CA, like certbot's `fullchain.pem`.
    package var chainPEM: [UInt8] { Array((Self.pem(certificate) + Self.pem(authority)).utf8) }
    /// The listener's certificate alone, like certbot's `cert.pem`.
    package var certificatePEM: [UInt8] { Array(Self.pem(certificate).utf8) }
    package var authorityPEM: [UInt8] { Array(Self.pem(authority).utf8) }
    package var keyPEM: [UInt8] { Array(key.privateKeyPEM.utf8) }
}
