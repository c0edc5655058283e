import Cryptography
import NIOCore
package import NIOSSL

/// The certificate of a listener and its private key, checked against each other, and the TLS that is spoken with them:
/// 1.2 at least with ephemeral keys only, HTTP/1.1 alone in ALPN, no certificate of the client.
package struct ListenerCertificate: Sendable {
    /// For the connections that begin from now on.
    package let context: NIOSSLContext
    /// DER, the listener's own first.
    package let chain: [[UInt8]]
    /// DNS names and addresses that it is for.
    package let names: [String]
    /// Seconds since 1970, both inclusive; of the listener's own certificate.
    package let validity: ClosedRange<Int64>
    /// Nothing but a certificate that somebody else issued: clients that do not know the issuer cannot trust it.
    package let lacksIssuer: Bool

    /// How long the other side has for its part of the end of a connection.
    private static let closingSeconds: Int64 = 2

    /// - Parameters:
    ///   - certificates: PEM, the listener's own first.
    ///   - privateKey: PEM, unencrypted.
    package init(certificates: [UInt8], privateKey: [UInt8]) throws(ListenerCertificateError) {
        let loaded = try Self.load(certificates)
        let own: Certificate
        do throws(CryptographyError) {
            own = try Certificate(der: loaded.own.span)
        } catch {
            throw .certificate("expected an RSA or P-256 key in it: \(error.reason)")
        }
        context = try Self.context(loaded.chain, try Self.key(privateKey))
        chain = loaded.encodings
        names = loaded.chain.first.map(Self.names) ?? []
        validity = own.validity
        lacksIssuer = loaded.chain.count == 1 && !own.isSelfIssued
    }

    /// Between now and the end of the certificate, in whole days; negative when it is over.
    package func daysLeft(at seconds: Int64) -> Int64 {
        let (days, rest) = (validity.upperBound - seconds).quotientAndRemainder(dividingBy: 86_400)
        return rest < 0 ? days - 1 : days
    }

    private typealias Loaded = (chain: [NIOSSLCertificate], encodings: [[UInt8]], own: [UInt8])

    private static func load(_ pem: [UInt8]) throws(ListenerCertificateError) -> Loaded {
        // NIOSSL takes no empty buffers.
        guard !pem.isEmpty, let chain = try? NIOSSLCertificate.fromPEMBytes(pem),
            let encodings = try? chain.map({ try $0.toDERBytes() }), let own = encodings.first
        else { throw .certificate("expected certificates in PEM form, the listener's own first") }
        return (chain, encodings, own)
    }

    private static func key(_ pem: [UInt8]) throws(ListenerCertificateError) -> NIOSSLPrivateKey {
        guard !pem.isEmpty, let key = try? NIOSSLPrivateKey(bytes: pem, format: .pem) else {
            throw .privateKey("expected an unencrypted private key in PEM form")
        }
        return key
    }

    /// Of TLS 1.2, all with forward secrecy. iOS 6 to 8 know only the last two, which are CBC with SHA-1.
    private static let ciphers: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, .TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
    ]

    private static func context(
        _ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey
    ) throws(ListenerCertificateError) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = ciphers
        configuration.applicationProtocols = ["http/1.1"]
        configuration.shutdownTimeout = .seconds(closingSeconds)
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch NIOSSLError.failedToLoadPrivateKey {
            throw .privateKey("expected the key of the first certificate")
        } catch {
            throw .certificate("expected certificates that TLS can be spoken with")
        }
    }
}

/// What is wrong with a certificate or its key, as what was expected; nothing of either is in it.
package enum ListenerCertificateError: Error, Sendable, Hashable {
    case certificate(String)
    case privateKey(String)
}
