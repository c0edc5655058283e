import ReceiptBridgeComparison
import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Documents side by side")
struct AlignedPairTests {
    @Test("Only the planted difference is marked, with its rule and class", arguments: PlantedDifference.all.indices)
    func planted(index: Int) throws {
        let plant = PlantedDifference.all[index]
        var fixture = ComparisonFixture()
        plant.change(&fixture)
        let differences = try fixture.differences()
        let pair = try fixture.pair()
        var marks: Set<String> = []
        for section in pair.sections {
            for row in section.rows {
                if let rule = row.rule { marks.insert("\(section.name) \(row.identifier)  \(rule)") }
                for field in row.fields {
                    guard let rule = field.rule else { continue }
                    #expect(field.verdict == plant.verdict.rawValue)
                    #expect(field.verifyReceipt != field.serverAPI, "\(rule)")
                    marks.insert("\(section.name) \(row.identifier) \(field.name) \(rule)")
                }
            }
        }
        #expect(marks == Set(differences.map(Self.mark)), "\(plant.rule)")
    }

    /// The position at which a difference must be marked.
    private static func mark(_ difference: Difference) -> String {
        let lists = ["transactions", "latestTransactions", "renewals", "subscriptions"]
        guard let list = lists.first(where: { difference.path.hasPrefix($0) }) else {
            return "answer  \(difference.path) \(difference.rule)"
        }
        var field = difference.path.dropFirst(list.count)
        if field.isEmpty { return "\(list)  order \(difference.rule)" }
        field = field.dropFirst(field.hasPrefix("[].") ? 3 : 2)
        return "\(list) \(difference.identifier ?? "") \(field) \(difference.rule)"
    }

    @Test("Every field of both sides is included; of the receipt only its length")
    func fields() throws {
        var fixture = ComparisonFixture()
        fixture.top["latest_receipt"] = String(repeating: "QUJD", count: 50)
        let pair = try fixture.pair()
        #expect(
            pair.sections.map(\.name) == ["answer", "transactions", "latestTransactions", "renewals", "subscriptions"])
        #expect(pair.bundleId == "com.example.app" && pair.environment == "Production")
        let app = try #require(pair.sections.first?.rows.first)
        #expect(app.fields.first { $0.name == "latestReceipt" }?.verifyReceipt == "(200 bytes)")
        #expect(app.fields.first { $0.name == "receipt.appAppleId" }?.serverAPI == "1234567890")
        let latest = try #require(pair.sections.dropFirst(2).first)
        #expect(latest.rows.map(\.identifier) == ["100", "101", "200"] && latest.omitted == 0)
        let row = try #require(latest.rows.first)
        #expect(row.fields.first { $0.name == "quantity" }?.verifyReceipt == "1")
        let date = try #require(row.fields.first { $0.name == "purchaseDate" })
        #expect(date.verifyReceipt == date.serverAPI && date.serverAPI?.hasSuffix(" UTC") == true)
        #expect(row.fields.allSatisfy { $0.rule == nil } && row.rule == nil)
        #expect(!String(describing: pair).contains("QUJD"))
    }

    @Test("Many rows are truncated, and rows with differences remain")
    func many() throws {
        let count = TestSize.pick(debug: 490, release: 4_990)
        var fixture = ComparisonFixture()
        for index in 0..<count {
            fixture.add(
                ComparisonFixture.purchase(
                    "\(10_000 + index)", of: "issue", "Non-Consumable", at: ComparisonFixture.now - Int64(index) * 1_000
                )
            )
        }
        // The first three rows are those of the fixture.
        let (product, date) = (count * 4 / 5, count * 9 / 10)
        fixture.latest[product + 3]["product_id"] = "other"
        fixture.latest[date + 3]["purchase_date_ms"] = "\(ComparisonFixture.now - Int64(date) * 1_000 + 7)"
        for index in 0..<count { fixture.latest[2]["key\(index)"] = "value" }
        let pair = try fixture.pair()
        let latest = try #require(pair.sections.first { $0.name == "latestTransactions" })
        #expect(latest.rows.count == 40 && latest.omitted == count + 3 - 40)
        for index in [product, date] { #expect(latest.rows.contains { $0.identifier == "\(10_000 + index)" }) }
        let odd = try #require(latest.rows.first { $0.identifier == "200" })
        #expect(odd.fields.count == 60 && odd.omitted > count * 4 / 5)
        #expect(try fixture.pair(maximumRows: 0).sections.allSatisfy { $0.rows.allSatisfy { $0.identifier.isEmpty } })
    }

    @Test("Long texts and names are truncated")
    func long() throws {
        var fixture = ComparisonFixture()
        let long = String(repeating: "x", count: 1_000_000)
        fixture.latest[1]["product_id"] = long
        fixture.latest[1]["transaction_id"] = long
        fixture.latest[1][long] = long
        fixture.top[long] = long
        fixture.receipt["bundle_id"] = long
        fixture.context.receipt = long
        let pair = try fixture.pair()
        #expect(try JSONEncoder().encode(pair).count < 40_000)
    }
}
