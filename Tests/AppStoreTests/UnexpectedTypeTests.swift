import ReceiptBridgeReceipts
import ReceiptBridgeBase
import Testing
import ReceiptBridgeTestSupport

@Suite("Claims of an unexpected type")
struct UnexpectedTypeTests {
    /// A kind of payload with the names of the claims that decide. Every other property of the type is left out if it
    /// cannot be read. The properties come from the type, so that a new one is tested without a change here.
    private struct Kind: Sendable {
        let empty: any Sendable
        let strict: Set<String>
        let read: @Sendable (JSONObject) throws -> (payload: any Sendable, leftOut: [String])

        init<Payload: SignedClaims>(_ empty: Payload, strict: Set<String>) {
            self.empty = empty
            self.strict = strict
            read = { object in
                var claims = ClaimReader(object)
                return (try Payload(&claims), claims.leftOut.map(\.name))
            }
        }
    }

    private static let identity: Set<String> = ["bundleId", "environment", "appAppleId"]
    private static let kinds = [
        Kind(
            TransactionPayload(),
            strict: [
                "bundleId", "environment", "transactionId", "originalTransactionId", "purchaseDate", "expiresDate",
                "signedDate", "revocationDate",
            ]),
        Kind(
            RenewalPayload(), strict: ["environment", "originalTransactionId", "signedDate", "gracePeriodExpiresDate"]),
        Kind(
            AppTransactionPayload(),
            strict: identity.union(["receiptType", "receiptCreationDate", "appTransactionId"])),
        Kind(
            NotificationPayload(),
            strict: identity.union([
                "notificationType", "notificationUUID", "signedDate", "data", "summary", "externalPurchaseToken",
                "appData", "signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo",
                "externalPurchaseId",
            ])),
    ]
    private static let nested: [any Sendable] = [
        TransactionCommitment(), RenewalCommitment(), NotificationPayload.PurchaseData(),
        NotificationPayload.ExtensionSummary(), NotificationPayload.ExternalPurchaseToken(),
        NotificationPayload.AppData(),
    ]
    /// Not claims of a document.
    private static let derived: Set<String> = ["claims", "unknownContainer"]

    private static let values = [
        "null", "true", "false", "0", "1", "-7", "9990.5", "33333.3", "1e400", "1e18", "9223372036854775807",
        "9223372036854775808", "123456789012345678901234567890", #""""#, #""9990""#, #""true""#, #""\ud800""#,
        #""P1M""#, "[]", "[1]", #"["a"]"#, "[null]", "[[]]", "{}", #"{"a":1}"#, #"{"bundleId":5}"#,
    ]

    /// The claims of a type with a value for each: the documented type of each, by the type of the property.
    private func sample(_ empty: Any) throws -> [(path: [String], json: String)] {
        var claims: [(path: [String], json: String)] = []
        for child in Mirror(reflecting: empty).children {
            let name = try #require(child.label)
            guard !Self.derived.contains(name) else { continue }
            switch type(of: child.value) {
            case is String?.Type: claims.append(([name], #""\#(name)""#))
            case is Int64?.Type: claims.append(([name], "7"))
            case is Timestamp?.Type: claims.append(([name], "1795262400000.25"))
            case is Bool?.Type: claims.append(([name], "true"))
            case is [String]?.Type: claims.append(([name], #"["a","b"]"#))
            case is [UInt8]?.Type: claims.append(([name], #"{"items":[1.5]}"#))
            default:
                let type = String(describing: type(of: child.value))
                let inner = try #require(Self.nested.first { type == "Optional<\(Swift.type(of: $0))>" }, "\(type)")
                claims.append(([name], "{}"))
                claims += try sample(inner).map { ([name] + $0.path, $0.json) }
            }
        }
        return claims
    }

    /// The document with one claim replaced.
    private func document(
        _ claims: [(path: [String], json: String)], below parent: [String] = [], replacing path: [String]? = nil,
        by value: String = ""
    ) -> String {
        let members = claims.filter { $0.path.count == parent.count + 1 && $0.path.starts(with: parent) }
        let texts = members.map { claim in
            let isObject = claims.contains { $0.path.count > claim.path.count && $0.path.starts(with: claim.path) }
            let json =
                claim.path == path
                ? value
                : isObject ? document(claims, below: claim.path, replacing: path, by: value) : claim.json
            return #""\#(claim.path[claim.path.count - 1])":\#(json)"#
        }
        return "{\(texts.joined(separator: ","))}"
    }

    /// The properties of a payload by path, as text.
    private func properties(_ value: Any, _ path: [String] = []) -> [[String]: String] {
        var properties: [[String]: String] = [:]
        for child in Mirror(reflecting: value).children {
            guard let name = child.label, !Self.derived.contains(name) else { continue }
            let inside = Mirror(reflecting: child.value).children.first?.value
            if let inside, Self.nested.contains(where: { type(of: $0) == type(of: inside) }) {
                properties.merge(self.properties(inside, path + [name])) { $1 }
            } else {
                properties[path + [name]] = "\(child.value)"
            }
        }
        return properties
    }

    private func read(_ kind: Kind, _ json: String) throws -> (properties: [[String]: String], leftOut: [String]) {
        let (payload, leftOut) = try kind.read(JSONObject(Array(json.utf8)))
        return (properties(payload), leftOut)
    }

    @Test("Any value in a claim that does not decide changes nothing but that claim; one that decides is an error")
    func anyValue() throws {
        var generator = SeededGenerator("Claims of an unexpected type")
        var (fields, taken, leftOut, refused) = (0, 0, 0, 0)
        var names: Set<String> = []
        for kind in Self.kinds {
            let claims = try sample(kind.empty)
            let whole = try read(kind, document(claims))
            #expect(whole.leftOut.isEmpty && !whole.properties.values.contains("nil"), "\(whole.properties)")
            for (path, _) in claims {
                fields += 1
                let name = path[path.count - 1]
                let others = whole.properties.filter { !$0.key.starts(with: path) }
                let random = (0..<TestSize.pick(debug: 5, release: 40)).map { _ in
                    Self.json(using: &generator, depth: 2)
                }
                for value in Self.values + random {
                    let json = document(claims, replacing: path, by: value)
                    do {
                        let odd = try read(kind, json)
                        #expect(odd.properties.filter { !$0.key.starts(with: path) } == others, "\(path) \(value)")
                        if odd.leftOut.contains(name) {
                            names.insert(name)
                            #expect(!kind.strict.contains(name) && odd.leftOut == [name], "\(path) \(value)")
                            #expect(odd.properties[path] == "nil", "\(path) \(value)")
                            leftOut += 1
                        } else {
                            taken += 1
                        }
                    } catch let error as JSONFieldError {
                        // A container with something odd inside is named by what is odd.
                        let isNamed = error.name == name || (path.count == 1 && value.contains(error.name))
                        #expect(isNamed && kind.strict.contains(error.name), "\(path) \(value): \(error)")
                        refused += 1
                    }
                }
            }
        }
        print("\(fields) claims: \(taken) values taken, \(leftOut) left out, \(refused) refused")
        let enough = TestSize.pick(debug: 500, release: 1_000)
        // Those of the metric: each must exist before it counts.
        #expect(names.sorted() == ClaimReader.names)
        #expect(fields > 90 && leftOut > 2 * enough && refused > enough)
    }

    /// Any JSON value.
    private static func json(using generator: inout SeededGenerator, depth: Int) -> String {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &generator) {
        case 0: "null"
        case 1: "\(Bool.random(using: &generator))"
        case 2: "\(Int64.random(in: .min ... .max, using: &generator))"
        case 3: "\(Int.random(in: -9...9, using: &generator)).\(Int.random(in: 0...999, using: &generator))"
        case 4: "\(Int.random(in: 1...9, using: &generator))e\(Int.random(in: -400...400, using: &generator))"
        case 5: #""\#(Int.random(in: 0...99, using: &generator))""#
        case 6:
            "[\((0..<2).map { _ in json(using: &generator, depth: depth - 1) }.joined(separator: ","))]"
        default: #"{"price":\#(json(using: &generator, depth: depth - 1))}"#
        }
    }

    @Test("What is left out is reported by name, and remains in the claims")
    func reported() throws {
        let json = #"{"transactionId":"1","price":9990.5,"commitmentInfo":{"commitmentPrice":"1"},"new":1.5}"#
        var claims = ClaimReader(try JSONObject(Array(json.utf8)))
        let payload = try TransactionPayload(&claims)
        #expect(
            claims.leftOut.map(\.description) == [
                "price: expected a whole number of 64 bits", "commitmentPrice: expected a whole number of 64 bits",
            ])
        #expect(payload.price == nil && payload.commitmentInfo == TransactionCommitment())
        #expect(payload.claims == Array(json.utf8))
    }

    @Test("Members that are needed are accepted in their other spelling")
    func spellings() throws {
        let object = try JSONObject(
            Array(#"{"a":"true","b":0,"c":"7","d":7,"e":"x","f":1.5,"g":"False","h":null,"i":{}}"#.utf8))
        #expect(try object.truth("a") == true && object.truth("b") == false && object.truth("g") == false)
        #expect(try object.number("c") == 7 && object.number("d") == 7 && object.number("h") == nil)
        #expect(try object.identifier("d") == "7" && object.identifier("e") == "x")
        #expect(throws: JSONFieldError.self) { try object.truth("e") }
        #expect(throws: JSONFieldError.self) { try object.truth("c") }
        #expect(throws: JSONFieldError.self) { try object.number("e") }
        #expect(throws: JSONFieldError.self) { try object.number("f") }
        #expect(throws: JSONFieldError.self) { try object.identifier("f") }
        #expect(throws: JSONFieldError.self) { try object.identifier("i") }
    }
}
