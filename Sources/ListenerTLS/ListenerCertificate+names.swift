import NIOCore
import NIOSSL

extension ListenerCertificate {
    /// Returns the DNS names and IP addresses that TLS clients compare with the requested host. The common name is
    /// not included because clients ignore it.
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
