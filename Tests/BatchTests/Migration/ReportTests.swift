import ReceiptBridgeBase
import ReceiptBridgeBatch
import Foundation
import ReceiptBridgeComparison
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Migration report")
struct ReportTests {
    @Test("The page is well-formed, loads nothing and has no script")
    func page() throws {
        let world = try ReportWorld()
        let html = try world.page(world.report(ReportWorld.counts))
        let page = try Page(html)
        #expect(page.language == "en" && page.title == "Migration of in.jsonl to out.sqlite")
        #expect(
            page.policy == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'")
        #expect(!html.contains("http://") && !html.contains("https://") && !html.contains("<script"))
        #expect(!html.contains("src=") && !html.contains("@import") && !html.contains("url(//"))
        #expect(page.captions == page.tables.count && page.scopes)
        #expect(page.pictures.count == 6 && page.pictures.allSatisfy { !$0.isEmpty })
        #expect(Set(page.links).isSubset(of: page.ids.map { "#\($0)" }) && !page.links.isEmpty)
        #expect(Set(page.ids).count == page.ids.count)
        #expect(page.text.contains("6 of 9 rows are authentic receipts"))
        #expect(!html.contains(world.folder.url.path))
    }

    @Test("The page is as recorded; RECORD_GOLDENS=1 writes it and fails once")
    func recorded() throws {
        let world = try ReportWorld()
        let page = Array(try world.page(world.sample()).utf8)
        #expect(try RecordedDocument.has(page: page, in: "Tests/Pages/migration.html"), "\(RecordedDocument.hint)")
    }

    @Test(
        "A sample page is written for tests in a browser",
        .enabled(
            if: ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_PAGES"] != nil,
            "writes a page for a browser: .ci/nightly browser"))
    func sample() throws {
        let folder = try #require(ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_PAGES"])
        let world = try ReportWorld()
        try world.sample().write(to: "\(folder)/migration.html", refusals: world.ledger.page)
    }

    // T27
    @Test(
        "Texts of rows and names are escaped",
        arguments: [
            (#"<img src="x" onerror="alert(1)">"#, #"<img src="x" onerror="alert(1)">"#),
            ("]]>&amp;<!--'\"", "]]>&amp;<!--'\""),
            ("a\u{202E}b\u{2066}", "aU+202EbU+2066"),
            ("\0\u{1B}[31m\u{7F}\u{85}\u{FEFF}\u{FFFE}", "U+0000U+001B[31mU+007FU+0085U+FEFFU+FFFE"),
            ("a\nb\tc\u{A0}\u{2028}\u{E0041}", "aU+000AbU+0009cU+00A0U+2028U+E0041"),
            ("ünïcödé 漢字 🧾 שלום", "ünïcödé 漢字 🧾 שלום"),
        ])
    func hostile(id: String, shown: String) throws {
        let world = try ReportWorld()
        world.ledger.add([
            Refusal(row: 1, id: id, code: "notBase64", place: id, reason: id),
            Refusal(row: 2, id: "plain", code: "notBase64", place: "text", reason: "reason"),
        ])
        var options = world.options
        options.source = "/somewhere/\(id.replacing("/", with: "").replacing("\0", with: "")).jsonl"
        options.persisted.source.receiptColumn = id
        let html = try world.page(MigrationReport(options: options, ending: .init(counts: ReportWorld.counts)))
        let page = try Page(html)
        let rows = try #require(page.tables["Refused rows in the order of the source"])
        #expect(rows == [shown: ["1", "notBase64", shown, shown], "plain": ["2", "notBase64", "text", "reason"]])
        #expect(!html.contains("<img") && !html.contains("onerror=\"") && !html.contains("somewhere"))
        let unseen = html.unicodeScalars.filter {
            $0 != "\n" && ($0.properties.generalCategory == .control || $0.properties.generalCategory == .format)
        }
        #expect(unseen.isEmpty)
        let json = try world.json(MigrationReport(options: options, ending: .init(counts: ReportWorld.counts)))
        #expect(json["refusals"]?.elements?.first?["id"] == .string(id))
    }

    @Test("The page truncates a very long id and says so; the JSON file contains all of it")
    func longId() throws {
        let world = try ReportWorld()
        let id = String(repeating: "x", count: 3_000_000)
        world.ledger.add([Refusal(row: 1, id: id, code: "empty", place: "row", reason: "nothing")])
        let html = try world.page(world.report(ReportWorld.counts))
        #expect(html.utf8.count < 100_000 && html.contains("… and 2,999,880 more characters"))
        #expect(try world.json(world.report(ReportWorld.counts))["refusals"]?.elements?.first?["id"] == .string(id))
    }

    @Test("The JSON file has every number and every refused row")
    func json() throws {
        let world = try ReportWorld()
        let refusals = (1...1_500).map {
            Refusal(row: Int64($0 * 2), id: "r\($0)", code: "malformed", place: "container", reason: "it ends early")
        }
        world.ledger.add(refusals)
        var counts = ReportWorld.counts
        for _ in 3..<1_500 {
            counts.add(ResultRow(id: "a", outcome: .refused, kind: "unknown", verified: false))
        }
        var ending = MigrationResult(counts: counts, stop: .limit)
        ending.rowsRead = 50
        ending.duration = .milliseconds(2_500)
        let json = try world.json(MigrationReport(options: world.options, ending: ending))
        #expect(json["report"] == .string("receipt-bridge migrate") && json["version"] == .number(1))
        #expect(json["source"] == .string("in.jsonl") && json["destination"] == .string("out.sqlite"))
        #expect(json["finished"] == .bool(false) && json["stop"] == .string("rowLimit"))
        // As for a shared migration, no run is recorded.
        #expect(json["begun"] == nil && json["ended"] == nil && json["runs"] == nil)
        #expect(json["run"]?["rows"] == .number(50) && json["run"]?["milliseconds"] == .number(2_500))
        #expect(json["run"]?["rowsPerSecond"] == .number(20))
        #expect(json["rows"] == .number(1_506) && json["authentic"] == .number(6))
        #expect(json["outcomes"]?["refused"] == .number(1_500) && json["outcomes"]?["migrated"] == .number(0))
        #expect(json["years"] == .object(["2019": .number(4), "2021": .number(2)]))
        #expect(json["refusalReasons"] == .object(["badSignature": .number(2), "notBase64": .number(1)]))
        #expect(json["customers"] == .null && json["calls"] == .null)
        #expect(
            json["refusals"]?.elements
                == refusals.map {
                    .object([
                        "row": .number($0.row), "id": .string($0.id), "code": .string($0.code),
                        "place": .string($0.place), "reason": .string($0.reason),
                    ])
                })
        let html = try world.page(MigrationReport(options: world.options, ending: ending))
        let page = try Page(html)
        #expect(page.tables["Refused rows in the order of the source"]?.count == 1_000)
        #expect(page.text.contains("These are the first 1,000 of 1,500; 500 more are not shown here."))
        #expect(page.text.contains("--report FILE.json"))
        #expect(page.text.contains("Stopped early: --limit is reached. Run the same command again to resume."))
    }

    @Test("The report has customers and calls if the Server API was used")
    func customers() throws {
        let world = try ReportWorld()
        var options = world.options
        options.persisted.withAPI = true
        var tally = CustomerTally()
        (tally.known, tally.notFound, tally.failed) = (1_200, 30, 4)
        var ending = MigrationResult(counts: ReportWorld.counts)
        ending.customers = tally
        ending.history.calls = 2_468
        let report = MigrationReport(options: options, ending: ending)
        let page = try Page(try world.page(report))
        let customers = page.tables["Customers by the result of their lookup"]
        #expect(
            customers?.mapValues { $0.dropFirst().first }
                == ["known": "1,200", "notFound": "30", "failed": "4", "waiting": "0"])
        #expect(page.text.contains("2,468 in all runs"))
        let json = try world.json(report)
        #expect(json["customers"]?["all"] == .number(1_234) && json["calls"] == .number(2_468))
    }

    @Test("The summary states the result in a sentence")
    func sentences() throws {
        func sentence(
            _ outcomes: [(MigrationOutcome, Int)], withAPI: Bool = false, isLenient: Bool = false, stop: RunStop? = nil
        ) -> String {
            var options = MigrationOptions(source: "a", destination: "b", workers: 1)
            options.persisted.withAPI = withAPI
            options.persisted.allowUnverified = isLenient
            var counts = MigrationCounts()
            for (outcome, count) in outcomes {
                for number in 0..<count {
                    let isAuthentic = outcome != .refused && !(isLenient && number == 0)
                    counts.add(ResultRow(id: "", outcome: outcome, kind: "appReceipt", verified: isAuthentic))
                }
            }
            return MigrationReport(options: options, ending: .init(counts: counts, stop: stop)).summary
        }
        #expect(sentence([]) == "There were no rows.")
        #expect(
            sentence([(.decoded, 1)]) == "The only row is an authentic receipt; nothing was refused; nothing failed.")
        #expect(
            sentence([(.decoded, 1_200), (.noTransactions, 2), (.refused, 34)])
                == "1,202 of 1,236 rows are authentic receipts; 34 were refused; nothing failed.")
        #expect(
            sentence([(.refused, 2)]) == "None of 2 rows is an authentic receipt; 2 were refused; nothing failed.")
        #expect(
            sentence([(.migrated, 5), (.refused, 1), (.notFound, 2), (.failed, 3)], withAPI: true)
                == "10 of 11 rows are authentic receipts; 5 got the App Store's records; 1 was refused; 2 were not "
                + "found; 3 failed for now.")
        #expect(
            sentence([(.decoded, 3)], isLenient: true)
                == "2 of 3 rows are authentic receipts; 1 was looked up although it is not, because of --allow-unverified; "
                + "nothing was refused; nothing failed.")
        #expect(
            sentence([(.decoded, 3)], withAPI: true, stop: .planned)
                == "All 3 rows are authentic receipts; nothing was refused; nothing failed.")
    }

    @Test("Reports of no rows and of a single outcome are valid pages", arguments: MigrationOutcome.allCases + [nil])
    func sparse(outcome: MigrationOutcome?) throws {
        let world = try ReportWorld()
        var counts = MigrationCounts()
        if let outcome {
            let reason = [.decoded, .migrated, .noTransactions].contains(outcome) ? nil : "code"
            counts.add(
                ResultRow(id: "a", outcome: outcome, reason: reason, kind: "appReceipt", verified: outcome != .refused))
        }
        let page = try Page(try world.page(world.report(counts)))
        #expect(page.tables["Rows by outcome"]?[outcome?.rawValue ?? ""]?.last == outcome.map { _ in "100 %" })
        #expect(Set(page.links).isSubset(of: page.ids.map { "#\($0)" }))
        #expect(try world.json(world.report(counts))["refusals"] == .array([]))
    }

    @Test("The plot of years is bounded for many and for impossible years")
    func years() throws {
        let world = try ReportWorld()
        var counts = MigrationCounts()
        var row = ResultRow(id: "a", outcome: .decoded, kind: "appReceipt", verified: true)
        for year in [0, 9_999] + Array(1_970...2_069) as [Int64] {
            row.year = year
            counts.add(row)
        }
        let page = try Page(try world.page(world.report(counts)))
        let years = try #require(page.tables["When the receipts were made, by the year (UTC)"])
        #expect(years.count == 20 && years["until 2051"]?.first == "83" && years["9999"]?.first == "1")
    }

    @Test("A report is readable only by its owner, replaces an older one, and leaves no other file")
    func files() throws {
        let world = try ReportWorld()
        for name in ["report.html", "report.json"] {
            let file = world.folder.url.appending(path: name)
            try Data("an older one".utf8).write(to: file)
            try world.report(ReportWorld.counts).write(to: file.path, refusals: world.ledger.page)
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(try Data(contentsOf: file).count > 500)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: world.folder.url.path).sorted()
        #expect(names == ["report.html", "report.json"])
    }

    @Test("The JSON file has all refused rows, however many there are, which are not held in memory")
    func many() async throws {
        // In a process of its own, because the system knows the memory of a process only.
        await #expect(processExitsWith: .success) {
            let world = try ReportWorld()
            let size = TestSize.pick(debug: (rows: 50_000, limit: 6 << 20), release: (rows: 200_000, limit: 32 << 20))
            for start in stride(from: 0, to: size.rows, by: 10_000) {
                world.ledger.add(
                    (1...10_000).map {
                        Refusal(
                            row: Int64(start + $0), id: "row-\(start + $0)", code: "badSignature", place: "signature",
                            reason: "the signature does not hold")
                    })
            }
            let file = world.folder.url.appending(path: "many.json")
            // What the first report loads.
            let small = try ReportWorld()
            try small.report(ReportWorld.counts).write(
                to: small.folder.path("small.json"), refusals: small.ledger.page)
            Memory.resetPeak()
            let before = Memory.peak
            try world.report(ReportWorld.counts).write(to: file.path, refusals: world.ledger.page)
            let growth = Memory.peak - before
            #expect(growth < size.limit || Memory.isSanitized, "\(growth)")
            let bytes = try Data(contentsOf: file)
            #expect(bytes.count { $0 == 0x0A } == size.rows + 2)
            #expect(bytes.suffix(3) == Data("]}\n".utf8))
            let json = try JSONSerialization.jsonObject(with: bytes) as? [String: Any]
            #expect((json?["refusals"] as? [Any])?.count == size.rows)
            #expect(try world.page(world.report(ReportWorld.counts)).utf8.count < 1_000_000)
        }
    }
}

@Suite("Reports of migration runs")
struct ReportedMigrationTests {
    @Test("A run writes its reports with every refused row of the source")
    func run() async throws {
        let world = try MigrationWorld()
        let (html, json) = (world.folder.url.appending(path: "r.html"), world.folder.url.appending(path: "r.json"))
        let ending = try await world.run { $0.reports = [html.path, json.path] }
        let report = try JSONValue(reading: [UInt8](try Data(contentsOf: json)))
        let refused = world.rows.filter { $0.expected == "refused" }.map(\.id)
        #expect(report["refusals"]?.elements?.map { $0["id"]?.text } == refused)
        #expect(report["rows"] == .number(ending.counts.rows) && report["run"]?["rows"] == report["rows"])
        #expect(report["runs"] == .number(1) && report["finished"] == .bool(true))
        let text = try String(contentsOf: html, encoding: .utf8)
        let page = try Page(text)
        #expect(page.tables["Refused rows in the order of the source"]?.count == refused.count)
        for row in world.rows where row.receipt.count > 40 {
            #expect(!text.contains(row.receipt.prefix(40)), "\(row.id)")
        }
    }

    @Test("A finished migration writes the same report when it is run again")
    func again() async throws {
        let world = try MigrationWorld()
        let file = world.folder.url.appending(path: "r.json")
        _ = try await world.run()
        #expect(!FileManager.default.fileExists(atPath: file.path))
        let ending = try await world.run { $0.reports = [file.path] }
        #expect(ending.wasFinished)
        let report = try JSONValue(reading: [UInt8](try Data(contentsOf: file)))
        #expect(report["rows"] == .number(Int64(world.rows.count)) && report["run"]?["rows"] == .number(0))
        #expect(report["runs"] == .number(1) && report["ended"]?.text != nil && report["finished"] == .bool(true))
        #expect(report["run"]?["rowsPerSecond"] == .null)
    }

    @Test("The report of a stopped migration says so and counts the runs")
    func stopped() async throws {
        let world = try MigrationWorld()
        let file = world.folder.url.appending(path: "r.json")
        _ = try await world.run { $0.limits.items = 3 }
        _ = try await world.run { ($0.limits.items, $0.reports) = (4, [file.path]) }
        let report = try JSONValue(reading: [UInt8](try Data(contentsOf: file)))
        #expect(report["rows"] == .number(7) && report["run"]?["rows"] == .number(4) && report["runs"] == .number(2))
        #expect(report["stop"]?.text == "rowLimit")
    }

    @Test(
        "A run with a report that cannot be written is rejected before it starts",
        arguments: ["no/such/r.html", "r.txt", "f.json"])
    func impossible(name: String) async throws {
        let world = try MigrationWorld()
        try FileManager.default.createDirectory(
            at: world.folder.url.appending(path: "f.json"), withIntermediateDirectories: false)
        let failure = await world.failure { $0.reports = [world.folder.path(name)] }
        guard case .notPossible(let reason) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(reason.contains("report"))
        #expect(!FileManager.default.fileExists(atPath: world.destination.path))
    }
}

/// Refused rows in ascending order.
private final class Refusals {
    private var rows: [Refusal] = []

    func add(_ refusals: [Refusal]) { rows += refusals }

    func page(after row: Int64, limit: Int) -> [Refusal] {
        // The rows of the test for many are numbered without gaps.
        let start = rows.indices.contains(Int(row)) && rows[Int(row)].row == row + 1 ? Int(row) : 0
        return Array(rows[start...].lazy.filter { $0.row > row }.prefix(limit))
    }
}

/// A directory, and counts of nine rows.
private final class ReportWorld {
    let folder: TemporaryFolder
    let ledger = Refusals()
    let options = MigrationOptions(source: "/home/somebody/in.jsonl", destination: "/var/data/out.sqlite", workers: 2)

    init() throws { folder = try TemporaryFolder() }

    static let counts: MigrationCounts = {
        var counts = MigrationCounts()
        func add(_ count: Int, _ row: ResultRow) {
            for _ in 0..<count { counts.add(row) }
        }
        var row = ResultRow(id: "a", outcome: .decoded, kind: "appReceipt", verified: true)
        (row.environment, row.repairs, row.year) = ("Production", ["whitespace"], 2_019)
        add(4, row)
        (row.outcome, row.environment, row.repairs, row.year) = (.noTransactions, "Sandbox", ["hexadecimal"], 2_021)
        add(2, row)
        row = ResultRow(id: "a", outcome: .refused, reason: "badSignature", kind: "unknown", verified: false)
        add(2, row)
        row.reason = "notBase64"
        add(1, row)
        return counts
    }()

    func report(_ counts: MigrationCounts) -> MigrationReport {
        MigrationReport(options: options, ending: .init(counts: counts))
    }

    /// A report with every section. Adds two refused rows to the ledger.
    func sample() -> MigrationReport {
        ledger.add([
            Refusal(row: 7, id: "u-7", code: "notBase64", place: "text", reason: "“%” at 12 is no base64"),
            Refusal(
                row: 1_234_567, id: String(repeating: "0123456789abcdef", count: 4), code: "truncatedDescription",
                place: "container.content", reason: "the printed form of data in place of the data"),
        ])
        var ending = MigrationResult(counts: Self.counts)
        var customers = CustomerTally()
        (customers.known, customers.notFound, customers.failed, customers.waiting) = (1_200_000, 34, 5, 6)
        ending.customers = customers
        return MigrationReport(options: options, ending: ending)
    }

    func page(_ report: MigrationReport) throws -> String {
        try report.write(to: folder.path("page.html"), refusals: ledger.page)
        return try folder.text("page.html")
    }

    func json(_ report: MigrationReport) throws -> JSONValue {
        try report.write(to: folder.path("page.json"), refusals: ledger.page)
        return try JSONValue(reading: folder.read("page.json"))
    }
}
