import ReceiptBridgeBase
import Testing

@Suite("Transaction identifier")
struct TransactionIdentifierTests {
    @Test(
        "A text of 1 to 20 digits that are not all zero is accepted",
        arguments: ["1", "100", "00012", "2000000191896422", "99999999999999999999"])
    func accepted(text: String) { #expect(TransactionIdentifier(rawValue: text)?.description == text) }

    @Test(
        "Any other text is rejected",
        arguments: ["", "0", "000", "-1", "+1", " 1", "1a", "1/2", "１", "999999999999999999999"])
    func rejected(text: String) { #expect(TransactionIdentifier(rawValue: text) == nil) }

    @Test(
        "A sandbox id has 16 digits and begins with 100000 or 200000",
        arguments: [
            ("1000000123456789", true), ("2000000191896422", true), ("20000053112933", false),
            ("10000001234567890", false), ("3000000191896422", false), ("2000010191896422", false),
        ])
    func sandbox(text: String, isSandbox: Bool) throws {
        #expect(try #require(TransactionIdentifier(rawValue: text)).isSandbox == isSandbox)
    }

    @Test("Identifiers sort by number, not by text")
    func order() {
        let identifiers = ["10", "9", "100", "0020", "2"].compactMap(TransactionIdentifier.init(rawValue:))
        #expect(identifiers.sorted().map(\.rawValue) == ["2", "9", "10", "0020", "100"])
    }
}

@Suite("Customer identifiers")
struct CustomerIdentifiersTests {
    @Test("Identifiers are distinct, sorted as text, and without invalid ones")
    func sorting() {
        let identifiers = CustomerIdentifiers(
            originalTransactionIds: ["3", nil, "20", "", "0", "20", "x", "3"], transactionIds: ["100", "1"])
        #expect(identifiers.originalTransactionIds.map(\.rawValue) == ["20", "3"])
        #expect(identifiers.transactionIds.map(\.rawValue) == ["1", "100"])
        #expect(!identifiers.isEmpty)
        #expect(CustomerIdentifiers(originalTransactionIds: ["0", nil], transactionIds: [""]).isEmpty)
    }

    @Test("The lookup order begins with the given identifiers, has each one once, and is not part of equality")
    func lookupOrder() throws {
        let identifiers = CustomerIdentifiers(originalTransactionIds: ["20", "3"], transactionIds: ["3", "5"])
        #expect(identifiers.inOrder.map(\.rawValue) == ["20", "3", "5"])
        let subscription = try #require(TransactionIdentifier(rawValue: "3"))
        let reordered = identifiers.asking(first: [subscription])
        #expect(reordered.inOrder.map(\.rawValue) == ["3", "20", "5"])
        #expect(reordered == identifiers)
    }
}

@Suite("Bundle identifier")
struct BundleIdentifierTests {
    @Test("A printable text of at most 255 bytes is accepted")
    func accepted() {
        let longest = String(repeating: "a", count: 255)
        #expect(BundleIdentifier(rawValue: "com.example.app")?.description == "com.example.app")
        #expect(BundleIdentifier(rawValue: longest)?.rawValue == longest)
    }

    @Test(
        "An empty or longer text, or one with blanks or control characters, is rejected",
        arguments: ["", "com.example app", "com.example\n", "\u{7F}", String(repeating: "a", count: 256)])
    func rejected(text: String) { #expect(BundleIdentifier(rawValue: text) == nil) }
}

@Suite("Account token")
struct AccountTokenTests {
    private static let token = "5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f"

    @Test(
        "A UUID is read with and without dashes, in either case",
        arguments: [token, token.uppercased(), token.replacing("-", with: ""), "5F0C1D1E6F2B4C8A9D3E7A1B2C3D4E5F"])
    func accepted(text: String) { #expect(AccountToken(text)?.text == Self.token) }

    @Test(
        "Any other text is rejected",
        arguments: [
            "", "user-123", "5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5", "5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5g",
            "5f0c1d1e6f2b4c8a9d3e7a1b2c3d4e5", "5f0c1d1e6f2b4c8a9d3e7a1b2c3d4e5f0", "5f0c1d1e-6f2b4c8a9d3e7a1b2c3d4e5f",
            "5f0c1d1e6f2b4c8a9d3e7a1b2c3d4e5f----", "-5f0c1d1e6f2b-4c8a-9d3e-7a1b2c3d4e5f",
            "5f0c1d1e-6f2b-4c8a-9d3e7a1b2c3d4e5ff",
            "\u{666}f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5", " 5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f",
        ])
    func rejected(text: String) { #expect(AccountToken(text) == nil) }
}
