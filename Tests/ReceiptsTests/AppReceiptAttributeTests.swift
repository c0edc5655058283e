import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeReceipts
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Attributes of an App Receipt")
struct AppReceiptAttributeTests {
    typealias Attribute = ReceiptBridgeSimulator.ReceiptAttribute

    /// The attributes that every valid receipt must have: 0, 2 and 12.
    private static let essentials = MintedReceipts.essentials

    /// Returns the error for a receipt that consists of these attributes only; `nil` if it is accepted.
    private func refusal(_ attributes: [Attribute]) throws -> ReceiptDecodingError? {
        try Decoders.apple.refusal(of: MintedReceipts.app(attributes: attributes))
    }

    /// Returns the contents of a receipt with the mandatory attributes and these.
    private func read(_ attributes: [Attribute]) throws -> AppReceipt {
        try appReceipt(MintedReceipts.app(attributes: Self.essentials + attributes))
    }

    @Test("Attributes are decoded to the values that were encoded")
    func everything() throws {
        let content = MintedReceipts.content {
            $0.expirationDate = Timestamp(seconds: 1_800_000_000)
            $0.purchases[0].extraAttributes = [.text(1721, "offer")]
            $0.purchases[0].isFamilyShared = true
            $0.purchases[0].webOrderLineItemId = .max
        }
        let receipt = try appReceipt(MintedReceipts.app(content: content))
        #expect(receipt.bundleId == content.bundleId)
        #expect(receipt.applicationVersion == content.applicationVersion)
        #expect(receipt.originalApplicationVersion == content.originalApplicationVersion)
        #expect(receipt.receiptCreationDate == content.creationDate)
        #expect(receipt.originalPurchaseDate == content.originalPurchaseDate)
        #expect(receipt.expirationDate == content.expirationDate)
        #expect(receipt.deviceReceiptDate == nil)
        #expect(receipt.platform == 3)
        #expect(receipt.opaqueValue?.count == 16)
        #expect(receipt.sha1Hash?.count == 20)
        #expect(receipt.unknownAttributes.map(\.type).sorted() == [6, 7, 9, 11, 14])
        let expected = content.purchasesInBlobOrder
        #expect(receipt.purchases.map(\.transactionId) == expected.map(\.transactionId))
        #expect(receipt.purchases.map(\.originalTransactionId) == expected.map(\.originalTransactionId))
        #expect(receipt.purchases.map(\.productId) == expected.map(\.productId))
        #expect(receipt.purchases.map(\.purchaseDate) == expected.map(\.purchaseDate))
        #expect(receipt.purchases.map(\.expiresDate) == expected.map(\.expiresDate))
        #expect(receipt.purchases.map(\.quantity) == expected.map(\.quantity))
        #expect(receipt.purchases.map(\.productType?.rawValue) == expected.map(\.productType))
        #expect(receipt.purchases.map(\.webOrderLineItemId) == expected.map(\.webOrderLineItemId))
        #expect(receipt.purchases.compactMap(\.promotionalOfferId) == ["offer"])
        #expect(receipt.purchases.map(\.ownershipType).contains(1))
        #expect(receipt.purchases.allSatisfy { $0.cancellationDate == nil && $0.unknownAttributes.isEmpty })
    }

    @Test("A refund is attributes 1712 and 1720, and a reason that is not a number does not matter")
    func refund() throws {
        let date = Timestamp(seconds: 1_709_000_000)
        let reasons: [(Attribute, Int64?)] = [(.number(1720, 1), 1), (.text(1720, ""), nil), (.text(1720, "1"), nil)]
        for (reason, expected) in reasons {
            let content = MintedReceipts.content {
                $0.purchases[0].cancellationDate = date
                $0.purchases[0].extraAttributes = [reason]
            }
            let receipt = try appReceipt(MintedReceipts.app(content: content))
            let refunded = try #require(receipt.purchases.first { $0.cancellationDate != nil })
            #expect(refunded.cancellationDate == date && refunded.cancellationReason == expected)
            #expect(refunded.unknownAttributes.isEmpty)
        }
    }

    /// Unusable creation dates, and the expected errors.
    static let creationDates: [(value: [UInt8]?, code: ReceiptDecodingError.Code)] = [
        (nil, .missingAttribute), ([], .missingAttribute), (DEREncoder.ia5String(""), .missingAttribute),
        (DEREncoder.ia5String("yesterday"), .unknownStructure),
        (DEREncoder.integer(1_709_294_400), .unknownStructure),
        ([0x16, 0x7F], .malformed), (DEREncoder.ia5String("0001-01-01T00:00:00Z"), .outsideValidity),
        (DEREncoder.ia5String("9999-12-31T23:59:59Z"), .outsideValidity),
    ]

    @Test("A receipt without a readable creation date is rejected", arguments: creationDates)
    func creationDate(value: [UInt8]?, code: ReceiptDecodingError.Code) throws {
        var attributes = Self.essentials.filter { $0.type != 12 }
        if let value { attributes.append(Attribute(12, raw: value)) }
        #expect(try refusal(attributes)?.code == code)
    }

    // T12
    @Test("The last of several repeated attributes counts, before and after the signature is verified")
    func duplicates() throws {
        let past = Timestamp(seconds: Validity.past.to.seconds)
        #expect(try read([.text(2, "com.example.second")]).bundleId == "com.example.second")
        #expect(try read([.date(12, past)]).receiptCreationDate == past)
        #expect(try read([.text(0, "ProductionSandbox")]).environment == .sandbox)
        #expect(try refusal(Self.essentials + [.text(0, "Xcode")])?.code == .xcodeReceipt)
        #expect(try refusal([.text(0, "Xcode")] + Self.essentials) == nil)
        #expect(try refusal(Self.essentials + [.date(12, nil)])?.code == .missingAttribute)
        #expect(try refusal(Self.essentials + [.text(2, "")])?.code == .missingAttribute)
        let purchase = Attribute(
            17, raw: DEREncoder.set([Attribute.text(1703, "1").der, Attribute.text(1703, "2").der], sorted: false))
        #expect(try read([purchase]).purchases.map(\.transactionId) == ["2"])

        let expired = AppReceiptEncoder(signer: try MintedReceipts.pki.expiredSigner())
        for (dates, code) in [
            ([past, MintedReceipts.creation], .outsideValidity), ([MintedReceipts.creation, past], nil),
        ]
            as [([Timestamp], ReceiptDecodingError.Code?)]
        {
            let attributes = Self.essentials.prefix(2) + dates.map { .date(12, $0) }
            let payload = DEREncoder.set(attributes.map(\.der), sorted: false)
            #expect(try Decoders.apple.refusal(of: expired.encode(payload: payload))?.code == code)
        }
    }

    @Test("Unknown attributes are kept with their raw values at both levels, unless they are empty")
    func unknown() throws {
        let strange: [Attribute] = [
            Attribute(99, raw: [1, 2, 3]), Attribute(-5, version: 77, raw: [0]), .text(1 << 40, "new"),
            .number(.max, .min), Attribute(99, raw: [1, 2, 3]),
        ]
        let empty: [Attribute] = [Attribute(98, raw: []), .text(97, ""), Attribute(96, raw: DEREncoder.ia5String(""))]
        let expected = strange.map { UnknownAttribute(type: $0.type, value: $0.value) }
        let inside = Attribute(17, raw: DEREncoder.set((strange + empty).map(\.der), sorted: false))
        let receipt = try read(strange + empty + [inside])
        #expect(receipt.unknownAttributes == expected)
        #expect(receipt.purchases.map(\.unknownAttributes) == [expected])
    }

    @Test("Empty attributes count as absent")
    func empty() throws {
        let types: [Int64] = [1, 3, 4, 5, 8, 10, 13, 15, 16, 18, 19, 21, 25]
        #expect(try read(types.map { Attribute($0, raw: []) }) == read([]))
        let inner = (1701...1722).map { Attribute($0, raw: []).der }
        let purchases = try read([
            Attribute(17, raw: DEREncoder.set(inner)), Attribute(17, raw: DEREncoder.set([])),
        ]).purchases
        #expect(purchases == [InAppPurchase(), InAppPurchase()])
    }

    /// Contents of an INTEGER, and their values; `nil` if they do not fit into 64 bits or are malformed.
    static let integers: [(content: [UInt8], value: Int64?)] = [
        ([0], 0), ([0xFF], -1), ([0x7F] + [UInt8](repeating: 0xFF, count: 7), .max),
        ([0x80] + [UInt8](repeating: 0, count: 7), .min), ([0, 0, 5], 5), ([], nil),
        ([0, 0x80] + [UInt8](repeating: 0, count: 7), nil), ([UInt8](repeating: 1, count: 300), nil),
    ]

    @Test(
        "Numbers have up to 64 bits; a larger number is rejected with its place",
        arguments: Named.list(integers) { $0.content })
    func integer(row: Named<(content: [UInt8], value: Int64?)>) throws {
        let (content, value) = row.value
        let number = DEREncoder.value(tag: 0x02, content)
        let inside = Attribute(17, raw: DEREncoder.set([Attribute(1711, raw: number).der]))
        if let value {
            let receipt = try read([Attribute(15, raw: number), inside])
            #expect(receipt.downloadId == value)
            #expect(receipt.purchases.map(\.webOrderLineItemId) == [value])
        } else {
            let failures = [
                try refusal(Self.essentials + [Attribute(15, raw: number)]), try refusal(Self.essentials + [inside]),
            ]
            #expect(failures.map { $0?.code } == [.unknownStructure, .unknownStructure])
            #expect(failures.map { $0?.place } == ["attribute 15", "attribute 17[0] › 1711"])
        }
    }

    // T13
    @Test("Attribute types have up to 64 bits")
    func types() throws {
        let wide = DEREncoder.sequence(
            DEREncoder.value(tag: 0x02, [1] + [UInt8](repeating: 0, count: 8)), DEREncoder.integer(1),
            DEREncoder.octetString([]))
        let payload = DEREncoder.set(Self.essentials.map(\.der) + [wide], sorted: false)
        #expect(try Decoders.apple.refusal(of: MintedReceipts.app(payload: payload))?.code == .unknownStructure)
        // A type whose low 32 bits equal those of another type is still a different type.
        #expect(try read([.text(1 << 32 | 2, "com.example.other")]).bundleId == "com.example.app")
    }

    @Test("An attribute with a value of the wrong kind is rejected with its place")
    func kinds() throws {
        let invalid = DEREncoder.value(tag: 0x0C, [0x63, 0xFF, 0xFE])
        let rows: [(Attribute, String)] = [
            (Attribute(3, raw: invalid), "attribute 3"), (Attribute(3, raw: DEREncoder.integer(5)), "attribute 3"),
            (Attribute(3, raw: [0x0C, 0x7F]), "attribute 3"), (Attribute(3, raw: [0x0C]), "attribute 3"),
            (.text(15, "5"), "attribute 15"), (.text(18, "never"), "attribute 18"),
            (Attribute(17, raw: []), "attribute 17[0]"), (Attribute(17, raw: [0x30, 0]), "attribute 17[0]"),
            (Attribute(17, raw: DEREncoder.set([[5, 0]])), "attribute 17[0]"),
            (Attribute(17, raw: DEREncoder.set([Attribute(1703, raw: invalid).der])), "attribute 17[0] › 1703"),
        ]
        for (attribute, place) in rows {
            let failure = try refusal(Self.essentials + [attribute])
            #expect(failure?.code == .unknownStructure)
            #expect(failure?.place == place)
        }
        #expect(try refusal(Self.essentials + [Attribute(2, raw: invalid)])?.code == .unknownStructure)
        // UTF8String and IA5String are interchangeable.
        #expect(try read([Attribute(3, raw: DEREncoder.ia5String("7"))]).applicationVersion == "7")
        #expect(try read([.text(18, "2020-01-01T00:00:00Z")]).originalPurchaseDate?.seconds == 1_577_836_800)
    }

    @Test(
        "A receipt with an invalid bundle id is rejected",
        arguments: ["a b", "a\u{7F}", "\u{0}", String(repeating: "a", count: 256)])
    func bundle(text: String) throws {
        #expect(try refusal(Self.essentials + [.text(2, text)])?.code == .missingAttribute)
    }

    /// Payloads with a broken structure.
    static let payloads: [(name: String, payload: [UInt8], code: ReceiptDecodingError.Code)] = [
        ("nothing", [], .malformed), ("a sequence", DEREncoder.sequence(essentials.map(\.der)), .unknownStructure),
        ("a text", DEREncoder.utf8String("receipt"), .unknownStructure),
        ("wrapped three times", DEREncoder.octetString(DEREncoder.octetString([])), .unknownStructure),
        ("an attribute that is a text", DEREncoder.set([DEREncoder.utf8String("a")]), .unknownStructure),
        (
            "an attribute without a value",
            DEREncoder.set([DEREncoder.sequence(DEREncoder.integer(2), DEREncoder.integer(1))]), .malformed
        ),
        ("a truncated attribute", [0x31, 0x04, 0x30, 0x05, 0x02, 0x01], .malformed),
    ]

    @Test("A payload that is not a set of attributes is rejected", arguments: payloads)
    func payload(name: String, payload: [UInt8], code: ReceiptDecodingError.Code) throws {
        #expect(try Decoders.apple.refusal(of: MintedReceipts.app(payload: payload))?.code == code)
    }

    /// Texts, and the instants that they name; `nil` if they are not dates.
    static let dates: [(text: String, milliseconds: Int64?)] = [
        ("2024-02-29T23:59:59Z", 1_709_251_199_000), ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59Z", -1000), ("4001-01-01T00:00:00Z", 64_092_211_200_000),
        ("2024-03-01T12:00:00.5Z", 1_709_294_400_500), ("2024-03-01T12:00:00.123456789Z", 1_709_294_400_123),
        ("2024-03-01T12:00:00.\(String(repeating: "0", count: 500))Z", 1_709_294_400_000),
        ("2024-03-01T15:00:00+0300", 1_709_294_400_000), ("2024-03-01T15:00:00+03:00", 1_709_294_400_000),
        ("2024-03-01T04:30:00.001-07:30", 1_709_294_400_001), ("2016-12-31T23:59:60Z", 1_483_228_800_000),
        ("2024-03-01T12:00:00", nil), ("2024-03-01T12:00:00.Z", nil), ("2024-03-01T12:00:00.5", nil),
        ("2024-03-01T12:00:00ZZ", nil), ("2024-03-01T12:00:00Z ", nil), (" 2024-03-01T12:00:00Z", nil),
        ("2024-03-01 12:00:00Z", nil), ("2024-03-01T12:00:00+3", nil), ("2024-03-01T12:00:00+03:0", nil),
        ("2024-03-01T12:00:00+03.00", nil), ("2024-03-01T12:00:00+24:00", nil), ("2024-03-01T12:00:00+", nil),
        ("2024-13-01T12:00:00Z", nil), ("2024-00-01T12:00:00Z", nil), ("2024-03-00T12:00:00Z", nil),
        ("2024-03-32T12:00:00Z", nil), ("2024-03-01T24:00:00Z", nil), ("2024-03-01T12:60:00Z", nil),
        ("2024-02-30T12:00:00Z", nil), ("2023-02-29T12:00:00Z", nil), ("2024-04-31T12:00:00Z", nil),
        ("-024-03-01T12:00:00Z", nil), ("12024-03-01T12:00:00Z", nil), ("２０24-03-01T12:00:00Z", nil),
        ("2024-03-01T12:00:00Etc/GMT", nil), ("1709294400000", nil), ("Z", nil),
    ]

    @Test(
        "Dates may have a fraction and an offset, and no other form is accepted", arguments: Named.list(dates) { $0.0 })
    func date(row: Named<(String, Int64?)>) throws {
        let (text, milliseconds) = row.value
        let attribute = Attribute(18, raw: DEREncoder.ia5String(text))
        if let milliseconds {
            #expect(try read([attribute]).originalPurchaseDate?.milliseconds == milliseconds)
        } else {
            #expect(try refusal(Self.essentials + [attribute])?.place == "attribute 18")
        }
    }

    /// Returns a receipt with the mandatory attributes and `count` copies of a piece.
    private func many(_ piece: [UInt8], _ count: Int) throws -> [UInt8] {
        let rest = [UInt8](Array(repeating: piece, count: count).joined())
        return try MintedReceipts.app(payload: DEREncoder.value(tag: 0x31, parts: Self.essentials.map(\.der) + [rest]))
    }

    /// Far more than the limit of unknown attributes.
    private static let many = TestSize.pick(debug: 20_000, release: 100_000)

    /// Large numbers of attributes, and the expected errors.
    static let floods: [(name: String, piece: [UInt8], count: Int, code: ReceiptDecodingError.Code?)] = [
        ("known attributes", Attribute.text(2, "com.example.app").der, many, nil),
        ("empty attributes", Attribute(99, raw: []).der, many, nil),
        ("unknown attributes", Attribute(99, raw: [1]).der, 4_096, nil),
        ("too many unknown attributes", Attribute(99, raw: [1]).der, many, .tooMany),
        ("too many purchases", Attribute(17, raw: [0x31, 0]).der, 100_000, .tooMany),
        ("purchases", Attribute(17, raw: MintedReceipts.content().purchases[0].der).der, 5_000, nil),
        (
            "an attribute in a purchase",
            Attribute(17, raw: DEREncoder.set(.init(repeating: Attribute(99, raw: [1]).der, count: many))).der,
            1, .tooMany
        ),
        ("many object identifiers", Attribute(98, raw: .init(repeating: 0x06, count: 20 * many)).der, 1, nil),
    ]

    // T13
    @Test("The number of attributes is limited, and the time grows linearly with it", arguments: floods.indices)
    func flood(index: Int) throws {
        let (name, piece, count, code) = Self.floods[index]
        let bytes = try many(piece, count)
        let (outcome, elapsed) = try timed { try Decoders.apple.refusal(of: bytes)?.code }
        #expect(outcome == code, "\(name)")
        #expect(elapsed < .seconds(8), "\(name)")
    }

    // T13
    @Test("All of 5,000 purchases are read")
    func fiveThousand() throws {
        let purchases = (0..<5_000).map { id in
            Attribute(17, raw: DEREncoder.set([Attribute.text(1703, "\(id)").der])).der
        }
        let receipt = try appReceipt(
            MintedReceipts.app(payload: DEREncoder.value(tag: 0x31, parts: Self.essentials.map(\.der) + purchases)))
        #expect(receipt.purchases.map(\.transactionId) == (0..<5_000).map { "\($0)" })
    }
}

@Suite("Lookup identifiers of a receipt")
struct ReceiptLookupTests {
    private func keys(_ pairs: [(transaction: String?, original: String?)]) throws -> CustomerIdentifiers {
        let attributes = pairs.map { pair in
            let inner =
                [pair.transaction.map { ReceiptBridgeSimulator.ReceiptAttribute.text(1703, $0).der }]
                + [pair.original.map { ReceiptBridgeSimulator.ReceiptAttribute.text(1705, $0).der }]
            return ReceiptBridgeSimulator.ReceiptAttribute(17, raw: DEREncoder.set(inner.compactMap(\.self)))
        }
        let bytes = try MintedReceipts.app(attributes: MintedReceipts.essentials + attributes)
        return try Decoders.apple.decode(bytes: bytes).contents.lookupKeys
    }

    @Test("All identifiers are returned, without duplicates and sorted as text")
    func all() throws {
        let found = try keys([("9", "10"), ("10", "9"), ("9", "10"), ("100", "2"), ("1", "2")])
        #expect(found.transactionIds.map(\.rawValue) == ["1", "10", "100", "9"])
        #expect(found.originalTransactionIds.map(\.rawValue) == ["10", "2", "9"])
    }

    // T19
    @Test("Invalid identifiers are left out: empty text, 0, letters, a path")
    func none() throws {
        let found = try keys(
            [
                ("", "0"), (nil, nil), ("000", "abc"), ("12a", "-5"), ("../1", " 7"), ("%2f", "1.5"),
                ("123456789012345678901", "٣"), ("5", "12345678901234567890"),
            ])
        #expect(found.transactionIds.map(\.rawValue) == ["5"])
        #expect(found.originalTransactionIds.map(\.rawValue) == ["12345678901234567890"])
        #expect(try keys([("0", "0")]).isEmpty)
        #expect(try keys([]).isEmpty)
    }

    @Test("A transactionReceipt has its own transaction id and original transaction id")
    func transaction() throws {
        let contents = try Decoders.apple.decode(bytes: MintedReceipts.transaction()).contents
        #expect(contents.lookupKeys.transactionIds.map(\.rawValue) == ["700000000000123"])
        #expect(contents.lookupKeys.originalTransactionIds.map(\.rawValue) == ["700000000000100"])
    }
}
