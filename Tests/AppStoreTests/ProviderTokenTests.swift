import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Server API token")
struct ProviderTokenTests {
    private func account(_ source: SecretSource, keyId: String = "2X9R4HXF34") -> ServerAPIAccount {
        ServerAPIAccount(issuerId: "57246542-96fe", keyId: keyId, bundleId: "com.example.\"app\"", privateKey: source)
    }

    private func parts(_ token: ProviderToken) throws -> (header: [String: Any], claims: [String: Any], text: [String])
    {
        let text = token.text.reveal().split(separator: ".").map(String.init)
        func object(_ part: String) throws -> [String: Any] {
            let standard = part.replacing("-", with: "+").replacing("_", with: "/")
            let data = try #require(
                Data(base64Encoded: standard + String(repeating: "=", count: (4 - part.count % 4) % 4)))
            return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        }
        return (try object(text[0]), try object(text[1]), text)
    }

    private func isSigned(_ token: ProviderToken, by key: SigningKey) throws -> Bool {
        let text = try parts(token).text
        let standard = text[2].replacing("-", with: "+").replacing("_", with: "/") + "=="
        let raw = [UInt8](try #require(Data(base64Encoded: standard)))
        let signature = ES256Signature.der(raw: raw.span) ?? []
        let (publicKey, message) = (key.publicKeyInfo, Array("\(text[0]).\(text[1])".utf8))
        let verifier = try VerifyingKey(publicKeyInfo: publicKey.span)
        return (try? verifier.verify(signature.span, over: message.span, digest: .sha256)) != nil
    }

    @Test("A token has Apple's required claims, a lifetime of 15 minutes, and the key's signature")
    func fields() throws {
        let key = try SigningKey.p256()
        let token = try ProviderTokens(account: account(.text(Redacted(key.privateKeyPEM)))).token(now: Shared.noon)
        let (header, claims, text) = try parts(token)
        #expect(header as? [String: String] == ["alg": "ES256", "kid": "2X9R4HXF34", "typ": "JWT"])
        #expect(claims["iss"] as? String == "57246542-96fe")
        #expect(claims["iat"] as? Int64 == Shared.noon.seconds - 60)
        #expect(claims["exp"] as? Int64 == Shared.noon.seconds + 840)
        #expect(claims["aud"] as? String == "appstoreconnect-v1")
        #expect(claims["bid"] as? String == "com.example.\"app\"")
        #expect(claims.count == 5)
        #expect(try isSigned(token, by: key))
        #expect("\(token)".contains("***") && !"\(token)".contains(text[2]))
    }

    @Test(
        "A token is cached until two minutes before it expires, and replaced after a 401 or if the clock was set back")
    func renewal() throws {
        let tokens = ProviderTokens(account: account(.text(Redacted(try SigningKey.p256().privateKeyPEM))))
        func token(_ seconds: Int64) throws -> ProviderToken {
            try tokens.token(now: Timestamp(seconds: Shared.noon.seconds + seconds))
        }
        let first = try token(0)
        #expect(try token(719) == first)
        let second = try token(720)
        #expect(second.issuedAt == Shared.noon.seconds + 660)
        #expect(try token(721) == second)
        tokens.discard(first)
        #expect(try token(722) == second)
        tokens.discard(second)
        let third = try token(722)
        #expect(third != second)
        #expect(try token(-600).issuedAt == Shared.noon.seconds - 660)
    }

    // T25
    @Test("A replaced key file is reloaded, and a missing one keeps the previous key")
    func rotation() throws {
        let file = TestProcess.folder.appending(path: "\(UUID().uuidString).p8")
        defer { try? FileManager.default.removeItem(at: file) }
        let tokens = ProviderTokens(account: account(.file(path: file.path)))
        #expect(throws: UpstreamError.self) { try tokens.token(now: Shared.noon) }
        try SigningKey.p256().privateKeyPEM.write(to: file, atomically: true, encoding: .utf8)
        let first = try tokens.token(now: Shared.noon)
        #expect(try tokens.token(now: Shared.noon) == first)
        try FileManager.default.removeItem(at: file)
        #expect(try tokens.token(now: Shared.noon) == first)
        try "half a file".write(to: file, atomically: true, encoding: .utf8)
        #expect(try tokens.token(now: Shared.noon) == first)
        let other = try SigningKey.p256()
        try other.privateKeyPEM.write(to: file, atomically: true, encoding: .utf8)
        let second = try tokens.token(now: Shared.noon)
        #expect(second != first)
        #expect(try tokens.token(now: Shared.noon) == second)
    }

    // T25
    @Test("The previous key is used while its file is rewritten in place, and the new key once the file is complete")
    func rewrittenInPlace() throws {
        let file = TestProcess.folder.appending(path: "\(UUID().uuidString).p8")
        defer { try? FileManager.default.removeItem(at: file) }
        let (previous, new) = (try SigningKey.p256(), try SigningKey.p256())
        try previous.privateKeyPEM.write(to: file, atomically: false, encoding: .utf8)
        let tokens = ProviderTokens(account: account(.file(path: file.path)))
        // Expects a token signed by the previous key, with and without a cached token.
        func expectFormer(discarding: Bool, _ what: String) throws {
            let token = try tokens.token(now: Shared.noon)
            #expect(try isSigned(token, by: previous), "\(what)")
            if discarding { tokens.discard(token) }
        }
        for round in 0..<3 {
            let handle = try FileHandle(forWritingTo: file)
            defer { try? handle.close() }
            try expectFormer(discarding: round == 1, "before")
            try handle.truncate(atOffset: 0)
            try expectFormer(discarding: round == 1, "emptied")
            let text = Array(new.privateKeyPEM.utf8)
            for piece in [text[..<10], text[10..<text.count / 2], text[(text.count / 2)..<(text.count - 30)]] {
                try handle.write(contentsOf: Data(piece))
                try expectFormer(discarding: round == 1, "half written")
            }
            guard round == 2 else {
                // The rewrite is abandoned, and the previous key is restored in place.
                try previous.privateKeyPEM.write(to: file, atomically: false, encoding: .utf8)
                continue
            }
            try handle.write(contentsOf: Data(text[(text.count - 30)...]))
        }
        let token = try tokens.token(now: Shared.noon)
        #expect(try isSigned(token, by: new))
        #expect(try tokens.token(now: Shared.noon) == token)
    }

    @Test("A key other than P-256 is rejected")
    func kinds() throws {
        for key in [try SigningKey.p384(), try SigningKey.rsa(bits: 2048)] {
            let tokens = ProviderTokens(account: account(.text(Redacted(key.privateKeyPEM))))
            let error = #expect(throws: UpstreamError.self) { try tokens.token(now: Shared.noon) }
            #expect(error?.code == .privateKey)
        }
    }
}
