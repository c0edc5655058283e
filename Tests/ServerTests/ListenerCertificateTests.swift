import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("TLS certificate of the listener")
struct ListenerCertificateTests {
    private static let yaml = "tls: {certificate: tls/chain.pem, privateKey: tls/key.pem}\n"

    /// Reads a configuration file from a folder.
    private func settings(
        _ yaml: String = yaml, in folder: TemporaryFolder, environment: [String: String] = [:]
    ) throws -> ProxyConfiguration {
        try folder.write("bridge.yaml", yaml)
        return try ConfigurationEnvironment.settings(
            file: folder.url.appending(path: "bridge.yaml"), environment: environment, checks: .server)
    }

    /// Returns the errors for a certificate chain and a key; `nil` leaves the file out.
    private func findings(_ chain: [UInt8]?, _ key: [UInt8]?, _ yaml: String = yaml) throws -> [String] {
        let folder = try TemporaryFolder()
        if let chain { try folder.write("tls/chain.pem", chain) }
        if let key { try folder.write("tls/key.pem", key) }
        do {
            _ = try settings(yaml, in: folder)
            return []
        } catch let error as ConfigurationError {
            return error.findings.map { $0.replacing("cannot read \(folder.url.path)/", with: "cannot read ") }
        }
    }

    @Test("Certificate and key are read from paths next to the configuration, or from paths in the environment")
    func read() throws {
        let folder = try TemporaryFolder()
        let pair = try ListenerPair()
        try folder.write("tls/chain.pem", pair.chainPEM)
        try folder.write("tls/key.pem", pair.keyPEM)
        let settings = try settings(in: folder)
        let certificate = try ListenerCertificate(#require(settings.tls))
        #expect(certificate.chain == [pair.certificate, pair.authority])
        #expect(certificate.names == ["receipts.example", "127.0.0.1"])
        #expect(certificate.validity == 1_136_073_600...2_366_841_599)
        #expect(!certificate.lacksIssuer)
        // The permissions of the key file are checked by the command `doctor`.
        #expect(settings.secretFiles.map(\.key) == ["tls.privateKey"])
        #expect(settings.secretFiles.map(\.path) == [folder.url.path + "/tls/key.pem"])
        let named = try self.settings(
            "unknownApps: pass\n", in: folder,
            environment: [
                "RECEIPT_BRIDGE_TLS_CERTIFICATE": folder.path("tls/chain.pem"),
                "RECEIPT_BRIDGE_TLS_PRIVATEKEY": folder.path("tls/key.pem"),
            ])
        #expect(named.tls == settings.tls && named.unknownVariables.isEmpty)
        #expect(ProxyConfiguration().tls == nil)
    }

    @Test("An RSA key, a chain of one, an expired certificate, and one file for both are accepted")
    func unusual() throws {
        let pair = try ListenerPair(key: .rsa(bits: 2048), host: nil, validity: .past)
        let file = pair.keyPEM + pair.certificatePEM
        let certificate = try ListenerCertificate(TLSFiles(certificates: file, privateKey: file))
        #expect(certificate.lacksIssuer && certificate.names.isEmpty)
        #expect(certificate.validity.upperBound == Validity.past.to.seconds)
    }

    @Test("The remaining days are rounded down, and are negative after the expiry date")
    func days() throws {
        let pair = try ListenerPair(validity: Validity(from: Timestamp(seconds: 0), to: Timestamp(seconds: 864_000)))
        let certificate = try ListenerCertificate(TLSFiles(certificates: pair.certificatePEM, privateKey: pair.keyPEM))
        #expect([0, 1, 777_600, 864_000, 864_001].map(certificate.daysLeft) == [10, 9, 1, 0, -1])
    }

    /// The passphrase is `canary`.
    private static let encryptedKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAg0BOvTtS2chgICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEC4rMIvV2KGtG8QO+1NAPEoEgZB7
        ERIsQ1Onz3BTw6pyST1mHYDosc8cM4TX6hJZSHfgZbI/5hvNMBcCVfXr97Iiuehc
        ppwJEqr4QeV6S04Jr16doln82qgZUHKVV3yLxYh1mXIT/gAGLl3VgTL/RFw8M9pf
        btcOWu7sZPV7/cEN3RAlqajbrmfzR4npjlA+B5WXD9S3e3SHqhVB5th8+awYXjc=
        -----END ENCRYPTED PRIVATE KEY-----

        """

    // T31
    @Test("A refusal names the key, the file and what was expected, and shows nothing of a file")
    func refused() throws {
        let (pair, other) = (try ListenerPair(), try ListenerPair())
        let text = Array("canary-text\n".utf8)
        let broken = Array(String(decoding: pair.chainPEM, as: UTF8.self).replacing("MII", with: "AAA").utf8)
        let strange = try ListenerPair(key: .rsa(bits: 512))
        let noChain = "tls/chain.pem: expected certificates in PEM form, the listener's own first"
        let noKey = "tls/key.pem: expected an unencrypted private key in PEM form"
        let notItsKey = "tls/key.pem: expected the key of the first certificate"
        let samples: [(chain: [UInt8]?, key: [UInt8]?, expected: [String])] = [
            (nil, pair.keyPEM, ["certificate: cannot read tls/chain.pem: there is no such file"]),
            (pair.chainPEM, nil, ["privateKey: cannot read tls/key.pem: there is no such file"]),
            (
                nil, nil,
                [
                    "certificate: cannot read tls/chain.pem: there is no such file",
                    "privateKey: cannot read tls/key.pem: there is no such file",
                ]
            ),
            ([], pair.keyPEM, ["certificate: \(noChain)"]),
            (text, pair.keyPEM, ["certificate: \(noChain)"]),
            (broken, pair.keyPEM, ["certificate: \(noChain)"]),
            (pair.certificate, pair.keyPEM, ["certificate: \(noChain)"]),
            (pair.certificatePEM + broken, pair.keyPEM, ["certificate: \(noChain)"]),
            (pair.keyPEM, pair.keyPEM, ["certificate: \(noChain)"]),
            (pair.chainPEM, [], ["privateKey: \(noKey)"]),
            (pair.chainPEM, text, ["privateKey: \(noKey)"]),
            (pair.chainPEM, pair.chainPEM, ["privateKey: \(noKey)"]),
            (pair.chainPEM, Array(Self.encryptedKey.utf8), ["privateKey: \(noKey)"]),
            (pair.chainPEM, other.keyPEM, ["privateKey: \(notItsKey)"]),
            (pair.chainPEM, try SigningKey.rsa(bits: 2048).privateKeyPEM.utf8.map { $0 }, ["privateKey: \(notItsKey)"]),
            (pair.authorityPEM + pair.certificatePEM, pair.keyPEM, ["privateKey: \(notItsKey)"]),
            (
                strange.chainPEM, strange.keyPEM,
                ["certificate: tls/chain.pem: expected a certificate with an RSA or P-256 key: an RSA key of 512 bits"]
            ),
            (
                [UInt8](repeating: 0x2D, count: 2 << 20), pair.keyPEM,
                ["certificate: cannot read tls/chain.pem: it is longer than 1048576 bytes"]
            ),
        ]
        for (index, sample) in samples.enumerated() {
            let expected = sample.expected.map { "bridge.yaml: tls.\($0)" }
            #expect(try findings(sample.chain, sample.key) == expected, "sample \(index)")
        }
        for (yaml, expected) in [
            "tls: {certificate: tls/chain.pem}": ["tls.privateKey: expected the path of a PEM file"],
            "tls: {}":
                [
                    "tls.certificate: expected the path of a PEM file",
                    "tls.privateKey: expected the path of a PEM file",
                ],
            "tls: yes": ["tls: expected keys and values"],
            "tls: {certificate: [tls/chain.pem], privateKey: tls/key.pem}":
                ["tls.certificate: expected the path of a PEM file"],
            "tls: {certificate: tls/chain.pem, privateKey: tls/key.pem, protocols: [h2]}":
                ["tls.protocols: unknown key"],
        ] as KeyValuePairs {
            #expect(try findings(pair.chainPEM, pair.keyPEM, yaml) == expected.map { "bridge.yaml: \($0)" }, "\(yaml)")
        }
    }

    @Test("A certificate or key in place of a path is refused without being shown")
    func misplaced() throws {
        let pair = try ListenerPair()
        func indented(_ pem: [UInt8]) -> String {
            String(decoding: pem, as: UTF8.self).split(separator: "\n").map { "    \($0)\n" }.joined()
        }
        for style in ["|", ">"] {
            let yaml =
                "tls:\n  certificate: \(style)\n\(indented(pair.chainPEM))  privateKey: \(style)\n\(indented(pair.keyPEM))"
            #expect(
                try findings(nil, nil, yaml) == [
                    "bridge.yaml: tls.certificate: expected the path of a PEM file",
                    "bridge.yaml: tls.privateKey: expected the path of a PEM file",
                ])
        }
    }

    @Test("A reload replaces the certificate, but adding or removing TLS needs a restart")
    func changes() throws {
        func settings(_ pair: ListenerPair?) throws -> ProxyConfiguration {
            var settings = ProxyConfiguration()
            settings.tls = pair.map {
                TLSFiles(certificates: $0.chainPEM, privateKey: $0.keyPEM)
            }
            return settings
        }
        let (old, new, none) = (try settings(ListenerPair()), try settings(ListenerPair()), try settings(nil))
        #expect(ConfigurationDiff(from: old, to: new).applied == ["tls.certificate"])
        #expect(ConfigurationDiff(from: old, to: new).needRestart == [])
        #expect(new.keepingFixedKeys(of: old).tls == new.tls)
        for (from, to) in [(old, none), (none, old)] {
            #expect(ConfigurationDiff(from: from, to: to).applied == [])
            #expect(ConfigurationDiff(from: from, to: to).needRestart == ["tls"])
            #expect(to.keepingFixedKeys(of: from).tls == from.tls)
        }
    }
}
