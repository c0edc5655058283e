import ReceiptBridgeBase
package import ReceiptBridgeCore
import ReceiptBridgeCryptography
import NIOCore
package import NIOSSL
import Logging

/// A listener's certificate chain and private key, checked against each other, and the TLS settings made from them.
///
/// TLS is version 1.2 or later with ephemeral key exchange only. ALPN offers only HTTP/1.1. No client certificate is
/// requested.
package struct ListenerCertificate: Sendable {
    package let context: NIOSSLContext
    /// The certificates in DER, the listener's own first.
    package let chain: [[UInt8]]
    package let names: [String]
    /// The validity of the listener's own certificate, in seconds since 1970, both ends inclusive.
    package let validity: ClosedRange<Int64>
    /// True if the file contains a single certificate that is not self-issued: the issuer's certificate is missing,
    /// and clients that do not have it cannot trust the listener.
    package let lacksIssuer: Bool

    /// Maximum time in seconds to wait for the peer's part of the TLS shutdown.
    private static let shutdownTimeoutSeconds: Int64 = 2

    /// - Throws: ``ListenerCertificateError`` if the files cannot be read or do not belong together.
    package init(_ files: TLSFiles) throws(ListenerCertificateError) {
        let loaded = try Self.load(files.certificates)
        let leaf: Certificate
        do throws(CryptographyError) {
            leaf = try Certificate(der: loaded.leaf.span)
        } catch {
            throw .certificate("expected a certificate with an RSA or P-256 key: \(error.reason)")
        }
        context = try Self.context(loaded.chain, try Self.key(files.privateKey.reveal()))
        chain = loaded.encodings
        names = loaded.chain.first.map(Self.names) ?? []
        validity = leaf.validity
        lacksIssuer = loaded.chain.count == 1 && !leaf.isSelfIssued
    }

    /// Whole days from the given time, in seconds since 1970, to the end of the certificate. Negative if it has
    /// expired.
    package func daysLeft(at seconds: Int64) -> Int64 {
        let (days, remainder) = (validity.upperBound - seconds).quotientAndRemainder(dividingBy: Seconds.day)
        return remainder < 0 ? days - 1 : days
    }

    private typealias Loaded = (chain: [NIOSSLCertificate], encodings: [[UInt8]], leaf: [UInt8])

    /// Parses the certificates without verifying them.
    private static func load(_ pem: [UInt8]) throws(ListenerCertificateError) -> Loaded {
        // NIOSSL does not accept empty buffers.
        guard !pem.isEmpty, let chain = try? NIOSSLCertificate.fromPEMBytes(pem),
            let encodings = try? chain.map({ try $0.toDERBytes() }), let leaf = encodings.first
        else { throw .certificate("expected certificates in PEM form, the listener's own first") }
        return (chain, encodings, leaf)
    }

    private static func key(_ pem: [UInt8]) throws(ListenerCertificateError) -> NIOSSLPrivateKey {
        guard !pem.isEmpty, let key = try? NIOSSLPrivateKey(bytes: pem, format: .pem) else {
            throw .privateKey("expected an unencrypted private key in PEM form")
        }
        return key
    }

    /// The cipher suites of TLS 1.2, all with forward secrecy. iOS 6 to 8 support only the last two, which are CBC
    /// with SHA-1.
    private static let ciphers: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, .TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
    ]

    /// Creates the TLS settings. BoringSSL checks here that the key belongs to the first certificate.
    private static func context(
        _ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey
    ) throws(ListenerCertificateError) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = ciphers
        configuration.applicationProtocols = ["http/1.1"]
        configuration.shutdownTimeout = .seconds(shutdownTimeoutSeconds)
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch NIOSSLError.failedToLoadPrivateKey {
            throw .privateKey("expected the key of the first certificate")
        } catch {
            throw .certificate("expected certificates that the TLS library accepts")
        }
    }
}

extension ListenerCertificate {
    /// TLS clients compare these with the requested host. The common name is not included because clients ignore it.
    static func names(of certificate: NIOSSLCertificate) -> [String] {
        certificate._subjectAlternativeNames().compactMap { name in
            switch name.nameType {
            case .dnsName:
                let text = String(decoding: name.contents, as: UTF8.self)
                return text.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? text : nil
            case .ipAddress:
                return try? SocketAddress(packedIPAddress: ByteBuffer(bytes: name.contents), port: 0).ipAddress
            default: return nil
            }
        }
    }
}

/// Answers a client that speaks plain HTTP to the TLS listener with 400 and a sentence, as nginx does. Without it the
/// client sees an empty response.
///
/// It comes before the TLS handler. A TLS connection begins with the byte 22 (RFC 8446, 5.1), an HTTP request with the
/// capital letter of a method. The timeout of the handshake closes the connection if the client does not.
final class PlainHTTPHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    static let sentence = "This port expects HTTPS: the address must begin with https://\n"
    private static let answer =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: \(sentence.utf8.count)\r\n"
        + "Connection: close\r\n\r\n\(sentence)"

    private let logger: Logger
    private var isPlain = false

    init(logger: Logger) { self.logger = logger }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isPlain else { return }
        let bytes = unwrapInboundIn(data)
        guard let first = bytes.readableBytesView.first, (0x41...0x5A).contains(first) else {
            context.fireChannelRead(data)
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
            return
        }
        isPlain = true
        logger.info("a client spoke plain HTTP to the TLS listener, and got 400")
        context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(string: Self.answer)), promise: nil)
        context.close(mode: .output, promise: nil)
    }
}
