import ReceiptBridgeBase
import Foundation
import ReceiptBridgeReceipts
import Testing
import ReceiptBridgeTestSupport

@Suite("Ids without a signature")
struct UnsignedIdentifiersTests {
    private func found(_ text: String) -> UnsignedIdentifiers { UnsignedIdentifiers(in: Array(text.utf8)) }

    private func texts(_ identifiers: Set<TransactionIdentifier>) -> [String] { identifiers.map(\.rawValue).sorted() }

    @Test("Ids alone are found in any quotes, and in lists")
    func plain() {
        for (text, expected) in [
            ("730000000000061", ["730000000000061"]), (" 730000000000061\r\n", ["730000000000061"]),
            ("\u{FEFF}730000000000061", ["730000000000061"]), ("\"730000000000061\"", ["730000000000061"]),
            ("'730000000000061'", ["730000000000061"]), ("'730000000000061", ["730000000000061"]),
            ("=\"730000000000061\"", ["730000000000061"]), ("\\\"730000000000061\\\"", ["730000000000061"]),
            ("\"\\\"730000000000061\\\"\"", ["730000000000061"]),
            ("[\"730000000000061\"]", ["730000000000061"]), ("[730000000000061, 62000]", ["62000", "730000000000061"]),
            ("730000000000061,730000000000062", ["730000000000061", "730000000000062"]),
            ("{730000000000061,730000000000062}", ["730000000000061", "730000000000062"]),
            ("730000000000061;\n730000000000062\n", ["730000000000061", "730000000000062"]),
            ("730000000000061.0", ["730000000000061"]), ("9007199254740992.0", ["9007199254740992"]),
            ("730000000000061,0", ["730000000000061"]), ("{\"$numberLong\":\"7300\"}", ["7300"]),
            ("{\"N\":7300}", ["7300"]), ("7", ["7"]),
            ("18446744073709551615", ["18446744073709551615"]),
            // None of these is an id.
            ("", []), ("0", []), ("-7", []), ("7x", []), ("123456789012345678901", []), ("[48,130,6,9]", []),
            ("48 130 6 9", []), ("{48, 130}", []), ("730000000000061.5", []), ("2024-01-01", []), ("GPA.3345-1234", []),
            ("6f1c9a9e-1111-4a1b-8a1b-0123456789ab", []), ("eyJ", []), ("[[48000]]", []),
            ("{\"a\":730000000000061}", []),
            ("１２３４５", []), ("true", []), ("\"", []), ("[", []), ("{", []),
        ] {
            #expect(texts(found(text).transactions) == expected, "\(text)")
            #expect(found(text).originals.isEmpty && !found(text).isRounded, "\(text)")
        }
    }

    @Test("Ids are found by the names of client libraries, exports and responses")
    func names() {
        for (text, originals, transactions) in [
            (#"{"transactionId":"73","originalTransactionId":"74"}"#, ["74"], ["73"]),
            (
                #"{"transactionId":"73","originalTransactionIdentifierIOS":"74","environmentIOS":"Sandbox"}"#, ["74"],
                ["73"]
            ),
            (#"{"transaction_id":73,"original_transaction_id":74}"#, ["74"], ["73"]),
            (
                #"{"Store":"AppleAppStore","TransactionID":"73","Payload":"{ \"this\" : \"is a fake receipt\" }"}"#, [],
                ["73"]
            ),
            (
                #"{"store_transaction_id":"73","original-transaction-id":"74","transactionIdentifier":"75"}"#, ["74"],
                ["73", "75"]
            ),
            (#"{"latest_receipt_info":[{"original_transaction_id":71,"transaction_id":"72"}]}"#, ["71"], ["72"]),
            (#"{"original_transaction_id":{"$numberLong":"75"},"TransactionID":{"N":"76"}}"#, ["75"], ["76"]),
            (
                #"{"transactionIds":["73",74],"originalTransactionIds":["75"],"unverifiedIds":["76"]}"#, ["75"],
                ["73", "74", "76"]
            ),
            (#"{"type":"ios-appstore","id":"73"}"#, [], ["73"]), (#"{"id":"73","type":"ios-appstore"}"#, [], ["73"]),
            (#"{"type":"android-playstore","id":"73"}"#, [], []), (#"{"id":"73"}"#, [], []),
            (#"[{"transactionId":"73"},{"transactionId":" 74 "},{"transactionId":"75,76000"}]"#, [], ["73", "74"]),
            (#"{"transactionIds":"7300,7400"}"#, [], ["7300", "7400"]),
            (#"{"verificationData":{"localVerificationData":"{\"transactionId\":\"73\"}"}}"#, [], ["73"]),
            (#""{\"original_transaction_id\":\"74\"}""#, ["74"], []),
            (Data(#"{"transactionId":"73"}"#.utf8).base64EncodedString(), [], ["73"]),
            (#"{"transactionId":"73"#, [], []), (#"{"transactionId":"73","b":"#, [], ["73"]),
            // None of these is an id.
            (#"{"appTransactionId":"79","app_transaction_id":"78","productId":"80","transaction_id":0}"#, [], []),
            (#"{"transactionId":"GPA.1","webOrderLineItemId":"80","originalTransactionId":""}"#, [], []),
            (#"{"transactionId":true,"originalTransactionId":null}"#, [], []),
            (#"{"quantities":"[10000]","other":["10000"]}"#, [], []),
        ] {
            #expect(texts(found(text).originals) == originals, "\(text)")
            #expect(texts(found(text).transactions) == transactions, "\(text)")
        }
    }

    @Test("App and environment are read beside the ids")
    func scope() {
        for (text, apps, environments) in [
            (#"{"transactionId":"7","bundleId":"a.b","environment":"Sandbox"}"#, ["a.b"], [.sandbox]),
            (
                #"{"receipt":{"bundle_id":"a.b","in_app":[{"transaction_id":"7"}]},"environment":"Production"}"#,
                ["a.b"], [.production]
            ),
            (#"{"receipt":{"bid":"a.b","transaction_id":"7"}}"#, ["a.b"], []),
            (#"{"appBundleIdIOS":"a.b","environmentIOS":"xcode","id":"1"}"#, ["a.b"], [.xcode]),
            (#"[{"bundleId":"a.b"},{"bundleId":"c.d","environment":"LocalTesting"}]"#, ["a.b", "c.d"], [.xcode]),
            (#"{"bundleId":"","environment":"staging"}"#, [], []),
            (
                #"{"bundleId":"example.of.an.app.with.a.long.name","transactionId":"7"}"#,
                ["example.of.an.app.with.a.long.name"], []
            ),
            (#"{"bundleId":"\u0061.b","transactionId":"7"}"#, ["a.b"], []),
        ] as [(String, Set<String>, Set<AppStoreEnvironment>)] {
            #expect(found(text).bundleIds == apps && found(text).environments == environments, "\(text)")
        }
    }

    @Test("A number that lost digits is no id, but is reported")
    func rounded() {
        for text in [
            "7.30000000000061E+14", "7,30000000000061E+14", "\"7.3e14\"", "7.3e+14", "7E14",
            #"{"original_transaction_id":7.30000000000061e14}"#, #"["7.3E+14"]"#, "9007199254740994.0",
        ] {
            #expect(found(text).isEmpty && found(text).isRounded, "\(text)")
        }
        for text in ["7.3", "1e", "0e0", #"{"price":7.3e14}"#, "7.3e-14", "7e1234"] {
            #expect(found(text) == UnsignedIdentifiers(), "\(text)")
        }
    }

    @Test("A customer is looked up by the original ids, and by the others only without them")
    func lookupKeys() {
        #expect(found(#"{"transactionId":"9","originalTransactionId":"10"}"#).lookupKeys.map(\.rawValue) == ["10"])
        #expect(found(#"[{"transactionId":"9"},{"transactionId":"10"}]"#).lookupKeys.map(\.rawValue) == ["10", "9"])
    }

    // T13
    @Test("The work and the number of ids are limited for hostile texts", .timeLimit(.minutes(1)))
    func limits() {
        let many = "[" + (0..<30_000).map { "\(1_000_000 + $0)" }.joined(separator: ",") + "]"
        #expect(found(many).all.count == UnsignedIdentifiers.maximumCount)
        var nested = #"{"transactionId":"77777"}"#
        for depth in 1...8 {
            nested = String(decoding: (try? JSONEncoder().encode([nested])) ?? Data(), as: UTF8.self)
            #expect(found(nested).isEmpty == (depth > 4), "\(depth)")
        }
        let deep = String(repeating: "[", count: 60) + "77777" + String(repeating: "]", count: 60)
        #expect(found(deep).isEmpty)
        for text in [
            String(repeating: "7", count: TestSize.pick(debug: 1 << 17, release: 1 << 22)),
            String(repeating: "[", count: TestSize.pick(debug: 1 << 17, release: 1 << 22)),
            String(repeating: "\"", count: TestSize.pick(debug: 1 << 17, release: 1 << 22)),
            String(repeating: "{\"", count: TestSize.pick(debug: 1 << 16, release: 1 << 21)),
            "eyJ" + String(repeating: "A", count: TestSize.pick(debug: 1 << 17, release: 1 << 22)),
            "x\u{1}" + String(repeating: "\u{0}", count: 1 << 10),
        ] { #expect(found(text).isEmpty) }
    }
}
