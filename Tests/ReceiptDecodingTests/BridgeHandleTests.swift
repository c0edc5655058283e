import Base
import Cryptography
import ReceiptDecoding
import Simulator
import Testing

@Suite("Bridge handles")
struct BridgeHandleTests {
    private static func key(_ byte: UInt8, count: Int = 32) throws -> BridgeHandleKeys.Key {
        try #require(BridgeHandleKeys.Key([UInt8](repeating: byte, count: count)))
    }

    private static func keys(_ bytes: UInt8...) throws -> BridgeHandleKeys {
        try #require(BridgeHandleKeys(bytes.map { try key($0) }))
    }

    private static func handle(
        bundleId: String = "com.example.app", environment: AppStoreEnvironment = .production,
        id: String = "730000000000061", issuedAt: Int64 = 1_795_262_400_123
    ) throws -> BridgeHandle {
        BridgeHandle(
            bundleId: try #require(BundleIdentifier(rawValue: bundleId)), environment: environment,
            originalTransactionId: try #require(TransactionIdentifier(rawValue: id)),
            issuedAt: Timestamp(milliseconds: issuedAt))
    }

    private static func decoded(_ text: [UInt8]) throws -> [UInt8] {
        let bytes = Base64Text.decode(text.span, .standard)
        return try #require(bytes)
    }

    private static func read(_ text: [UInt8], _ keys: BridgeHandleKeys) throws -> BridgeHandle {
        try keys.handle(in: text.span)
    }

    private static func isClaimed(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return BridgeHandle.isClaimed(by: bytes.span)
    }

    private static func refusal(_ text: [UInt8], _ keys: BridgeHandleKeys) -> BridgeHandleError? {
        do throws(BridgeHandleError) {
            _ = try keys.handle(in: text.span)
            return nil
        } catch {
            return error
        }
    }

    @Test("The bytes of a handle are the documented ones")
    func layout() throws {
        let text = try Self.keys(7).text(of: try Self.handle()).reveal()
        let bytes = try Self.decoded(Array(text.utf8))
        let key = try Self.key(7)
        var expected = Array("rb1.".utf8) + [8] + key.id
        for field in ["com.example.app", "Production", "730000000000061"] {
            expected += [UInt8(field.utf8.count)] + Array(field.utf8)
        }
        expected += [8, 0, 0, 0x01, 0xA1, 0xFD, 0xFA, 0x46, 0x7B]
        #expect(Array(bytes.dropLast(32)) == expected)
        #expect(Array(bytes.suffix(32)) == HMAC.sha256(expected, key: [UInt8](repeating: 7, count: 32)))
        #expect(Self.isClaimed(text))
        #expect(!Self.isClaimed("MIIUVQYJ"))
        #expect(!Self.isClaimed("cmI"))
    }

    @Test("The text of a handle with the longest bundle id and transaction id has at most 512 characters")
    func longest() throws {
        let longest = try Self.handle(
            bundleId: String(repeating: "b", count: 255), id: "12345678901234567890", issuedAt: .max)
        let keys = try Self.keys(1)
        let text = Array(keys.text(of: longest).reveal().utf8)
        #expect(text.count <= BridgeHandle.maximumTextSize && text.count % 4 == 0)
        let read = try keys.handle(in: text.span)
        #expect(read == longest)
        // Without its last character, the bundle id would be that of another app.
        for count in 1..<text.count { #expect(Self.refusal(Array(text.prefix(count)), keys) != nil) }
    }

    @Test("A handle of one server is read by another with the same key, also after the key was replaced")
    func replacedKey() throws {
        let handle = try Self.handle()
        let old = Array(try Self.keys(1).text(of: handle).reveal().utf8)
        #expect(try Self.read(old, Self.keys(1)) == handle)
        #expect(try Self.read(old, Self.keys(2, 1)) == handle)
        #expect(Self.refusal(old, try Self.keys(2)) == .unknownKey)
        let new = Array(try Self.keys(2, 1).text(of: handle).reveal().utf8)
        #expect(try Self.read(new, Self.keys(2)) == handle)
    }

    @Test("A handle with any changed bit, or with another value in any field, is refused")
    func changed() throws {
        let keys = try Self.keys(1, 2)
        let text = Array(keys.text(of: try Self.handle()).reveal().utf8)
        let bytes = try Self.decoded(text)
        for index in bytes.indices {
            for bit in 0..<8 {
                var other = bytes
                other[index] ^= 1 << UInt8(bit)
                #expect(Self.refusal(Array(Base64.encode(other).utf8), keys) != nil, "byte \(index), bit \(bit)")
            }
        }
        let parts = [
            try Self.handle(bundleId: "com.example.ap"), try Self.handle(environment: .sandbox),
            try Self.handle(id: "730000000000062"), try Self.handle(issuedAt: 1_795_262_400_124),
        ]
        for other in parts {
            let mixed = try Self.decoded(Array(keys.text(of: other).reveal().utf8))
            let forged = mixed.dropLast(32) + bytes.suffix(32)
            #expect(Self.refusal(Array(Base64.encode(Array(forged)).utf8), keys) == .notAuthentic)
        }
    }

    @Test("Only canonical base64 of at most 512 characters is read")
    func encodings() throws {
        let keys = try Self.keys(1)
        let text = keys.text(of: try Self.handle()).reveal()
        for other in [
            text + "\n", " " + text, text + "====", text.replacing("=", with: ""), "", "cmIxLg==", "cmIxLgg=",
            text + String(repeating: "A", count: 512),
        ] where other != text {
            #expect(Self.refusal(Array(other.utf8), keys) == .malformed, "\(other)")
        }
    }

    @Test("A key has at least 16 bytes, and its id does not contain it")
    func keySizes() throws {
        #expect(BridgeHandleKeys.Key([UInt8](repeating: 1, count: 15)) == nil)
        #expect(BridgeHandleKeys([]) == nil)
        let key = try Self.key(9, count: 16)
        #expect(key.id.count == 8 && key.id != [UInt8](repeating: 9, count: 8))
        #expect(!"\(key)".contains("9, 9"))
        #expect("\(try Self.keys(9).text(of: try Self.handle()))" == "***")
    }
}
