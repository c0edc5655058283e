import NIOCore
import NIOSSL

extension ListenerCertificate {
    /// The names that clients compare with the one they asked for; the common name is none of them.
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
