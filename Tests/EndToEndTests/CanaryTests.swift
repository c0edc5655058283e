import ReceiptBridgeBase
import Foundation
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// T26: secrets, receipts and account tokens are sent to every input and searched in every output.
@Suite("Secrets, receipts and account tokens")
struct CanaryTests {
    private static let previous = "canary-former-5b1e77"
    private static let wrong = "canary-password-90cc12"
    private static let token = "canary-token-c41fd8aa"
    private static let forwarding = "canary-forwarding-2f60b1"

    /// A simulated App Store, a configuration with every kind of secret, and the values to search for.
    private struct CanaryFixture {
        let stage: CommandFixture
        let consumer: TestServer
        let canaries: Canaries
        let receipt: String
        let customer: SimulatedCustomer
        /// A signed notification that contains a signed transaction of the customer.
        let notification: [UInt8]

        init() async throws {
            stage = try await CommandFixture(customers: 12)
            consumer = try TestServer(reply: .respond())
            let folder = stage.folder
            for (name, secret) in [("former", previous), ("token", token), ("forwarding", forwarding)] {
                try folder.write("\(name).txt", secret)
            }
            let more = """
                    acceptedSecrets: [{file: former.txt}]
                    shadow: api
                    forward:
                      - {url: "http://127.0.0.1:\(consumer.port)/camel", as: camel, secret: {file: forwarding.txt}}

                """
            try stage.configure(before: "tokens: [{file: token.txt}]\n", after: more)
            let world = stage.appStore.world
            customer = try #require(
                world.customers.first { customer in
                    customer.environment == .production && customer.kind == .activeSubscription
                        && customer.transactions.contains { $0.appAccountToken != nil }
                } ?? world.customers.first { $0.transactions.contains { $0.appAccountToken != nil } })
            let bought = try #require(customer.transactions.first { $0.appAccountToken != nil })
            receipt = try #require(stage.appStore.receipts(of: customer).first).base64
            notification = try SharedSimulator.pki.notification(
                "REFUND_DECLINED", "canary", about: bought, in: customer.environment, at: .now)
            let text = try #require(try JSONValue(reading: notification)["signedPayload"]?.text)
            let payload = try #require(text.split(separator: ".").dropFirst().first)
            let claims = try JSONValue(reading: #require(Base64.decodeURLSafe(payload)))
            let transaction = try #require(claims["data"]?["signedTransactionInfo"]?.text)
            let key = try folder.text(SimulatedConfiguration.keyFile)
            let keyLine = try #require(key.split(separator: "\n").dropFirst().first)
            canaries = Canaries(
                secrets: [
                    "the shared secret": SimulatedApp.first.sharedSecret, "the previous secret": CanaryTests.previous,
                    "a client's password": CanaryTests.wrong, "the bearer token": CanaryTests.token,
                    "the forwarding secret": CanaryTests.forwarding, "the In-App Purchase key": String(keyLine),
                ],
                contents: [
                    "the receipt": Self.middle(of: receipt), "the receipt's signature": String(receipt.suffix(48)),
                    "the notification's signature": String(text.suffix(48)),
                    "the transaction's signature": String(transaction.suffix(48)),
                ],
                values: ["the account token": try #require(bought.appAccountToken)])
        }

        /// Runs a command. Searches its command line and environment while it runs, and its outputs afterwards.
        ///
        /// - Parameter id: replaces the word `ID`.
        func run(_ words: [String], _ id: String, allowing allowed: Canaries.Allowed) async throws {
            let running = try stage.start(words.map { $0 == "ID" ? id : $0 })
            #if os(Linux)
                while running.isRunning {
                    canaries.search(process: running.identifier)
                    try await Task.sleep(for: .milliseconds(20))
                }
            #endif
            _ = await running.end()
            let name = words.prefix(2).joined(separator: " ")
            canaries.search(running.errors, of: "errors of \(name)")
            canaries.search(running.output, of: "output of \(name)", allowing: allowed)
        }

        /// Writes files with typical mistakes: secrets where file names belong, a damaged key, and lists with invalid
        /// ids.
        func writeMistakes() throws {
            let folder = stage.folder
            let yaml = try folder.text("receipt-bridge.yaml")
            let secret = SimulatedApp.first.sharedSecret
            let misplaced = """
                tokens: [\(CanaryTests.token)]
                apps:
                  - bundleId: com.example.app
                    sharedSecret: \(secret)
                    acceptedSecrets: [\(CanaryTests.previous)]
                    forward: [{url: "http://127.0.0.1:9/in", secret: \(CanaryTests.forwarding)}]

                """
            try folder.write("misplaced.yaml", misplaced.utf8)
            let key = try folder.text(SimulatedConfiguration.keyFile)
            try folder.write("damaged.p8", key.replacing("-----END", with: "AAAA\n-----END").utf8)
            try folder.write(
                "damaged-key.yaml", yaml.replacing(SimulatedConfiguration.keyFile, with: "damaged.p8").utf8)
            let ids = stage.customers().compactMap(\.transactions.first?.transactionId)
            try folder.write("ids.txt", ids.prefix(4).map { "\($0)\n" }.joined().utf8)
            try folder.write("no-ids.txt", "\(CanaryTests.wrong)\n\(receipt)\n".utf8)
        }

        private static func middle(of text: String) -> String { String(text.dropFirst(text.count / 2).prefix(48)) }

        /// Returns requests of clients, each with what the response may contain.
        func requests() throws -> [(bytes: [UInt8], allowed: Canaries.Allowed)] {
            let good = Question.body(receipt)
            let authorized = "Authorization: Bearer \(CanaryTests.token)"
            let id = try #require(customer.transactions.first).transactionId
            func post(_ path: String, _ body: [UInt8], _ headers: String...) -> [UInt8] {
                RawConnection.post(path, body, ["Host: a"] + headers)
            }
            func get(_ path: String, _ headers: String...) -> [UInt8] {
                RawConnection.request("GET", path, ["Host: a"] + headers)
            }
            let tampered: [UInt8] = notification.dropLast(8) + Array("AAAAAA".utf8) + notification.suffix(2)
            let first = JSONValue([
                "notification_type": "CANCEL", "bid": SimulatedApp.first.bundleId,
                "password": SimulatedApp.first.sharedSecret, "environment": "PROD",
                "unified_receipt": JSONValue(["latest_receipt": receipt]),
            ]).bytes
            let signedText = JSONValue(["signedTransaction": "\(CanaryTests.wrong).a.b"]).bytes
            return [
                (post("/verifyReceipt", good), .contents),
                (post("/verifyReceipt", Question.body(receipt, password: SimulatedApp.first.sharedSecret)), .contents),
                (post("/verifyReceipt", Question.body(receipt, password: CanaryTests.previous)), .contents),
                (post("/verifyReceipt", Question.body(receipt, password: CanaryTests.wrong)), .nothing),
                (post("/verifyReceipt", Array(good.dropLast())), .nothing),
                (post("/verifyReceipt", Question.body("\(receipt.dropLast(8))")), .nothing),
                (post("/verifyReceipt", Question.body(CanaryTests.wrong, password: CanaryTests.wrong)), .nothing),
                (post("/verifyReceipt", good, "Content-Encoding: gzip"), .nothing),
                (post("/verifyReceipt/\(CanaryTests.wrong)?password=\(CanaryTests.wrong)", good), .nothing),
                (post("/\(CanaryTests.token)", good, authorized), .nothing),
                (get("/verifyReceipt?password=\(CanaryTests.wrong)", "Cookie: \(CanaryTests.wrong)"), .nothing),
                (Array("\(CanaryTests.wrong) \(CanaryTests.token)\r\n\r\n".utf8), .nothing),
                (
                    post("/v1/receipts", JSONValue(["receiptData": receipt]).bytes, authorized),
                    .contents
                ),
                (post("/v1/receipts", JSONValue(["receiptData": receipt]).bytes), .nothing),
                (
                    post(
                        "/v1/receipts", JSONValue(["receiptData": "\(receipt.dropLast(8))"]).bytes,
                        authorized),
                    .nothing
                ),
                (post("/v1/receipts", signedText, authorized), .nothing),
                (get("/v1/transactions/\(id)", authorized), .contents),
                (get("/v1/transactions/\(id)", "Authorization: Bearer \(CanaryTests.wrong)"), .nothing),
                (get("/v1/transactions/\(CanaryTests.wrong)", authorized), .nothing),
                (post("/v1/notifications", notification), .nothing), (post("/v1/notifications", tampered), .nothing),
                (post("/v1/notifications", first), .nothing),
                (post("/v1/notifications", Array(first.dropLast())), .nothing),
                (get("/", authorized), .nothing), (get("/metrics", authorized), .nothing), (get("/healthz"), .nothing),
                (get("/comparisons", authorized), .values), (get("/openapi.json", authorized), .nothing),
                (get("/readyz"), .nothing),
            ]
        }
    }

    /// Faults of the App Store, one set after the other.
    private static let faultSets: [[SimulatedFault]] = [
        [], [SimulatedFault(.status(503)), SimulatedFault(.status(401), endpoint: "serverAPI")],
        [SimulatedFault(.html), SimulatedFault(.reset, endpoint: "serverAPI")],
        [
            SimulatedFault(.body(#"{"status":"\#(wrong)","\#(previous)":"\#(token)"}"#)),
            SimulatedFault(.serverAPI(.badSignature), endpoint: "serverAPI"),
        ],
    ]

    // T26
    @Test(
        "Secrets and receipts are in no log, error, page, store or process of a server, whatever requests and faults come",
        arguments: ["debug", "info", "error"])
    func serving(level: String) async throws {
        let fixture = try await CanaryFixture()
        let canaries = fixture.canaries
        let proxy = try await fixture.stage.serve("receipt-bridge.yaml", "--log-level", level)
        // The faults take time and need to be tested at one log level only, because `debug` logs everything that the
        // other levels log.
        for (faultSet, faults) in Self.faultSets.prefix(level == "debug" ? 4 : 1).enumerated() {
            fixture.stage.appStore.faults.removeAll()
            for fault in faults { fixture.stage.appStore.faults.add(fault) }
            // Without faults, all requests are sent. With faults, only those that call the App Store are.
            for (number, request) in try fixture.requests().enumerated()
            where faultSet == 0 || [0, 3, 12, 16].contains(number) {
                let answer = try? await proxy.ask(request.bytes)
                canaries.search((answer?.head ?? []).joined(separator: "\n"), of: "head of answer \(number)")
                canaries.search(answer?.body ?? [], of: "answer \(number)", allowing: request.allowed)
            }
        }
        #if os(Linux)
            canaries.search(process: proxy.identifier)
            #expect(canaries.count("/proc/") >= 2)
        #endif
        #expect(await eventually { fixture.consumer.counts.requests >= 1 })
        await proxy.finish()
        #expect(level == "error" || proxy.errors.contains("\"message\""), "\(level)")
        canaries.search(proxy.errors, of: "the log of \(level)")
        canaries.search(proxy.output, of: "standard output")
        // The store contains what Apple signed, because responses are made from it. Secrets must not be in it.
        for name in try FileManager.default.contentsOfDirectory(atPath: fixture.stage.folder.url.path)
        where name.hasPrefix("bridge.sqlite") {
            let bytes = try fixture.stage.folder.read(name)
            canaries.search(bytes, of: "store \(name)", allowing: .contents)
        }
        #expect(canaries.count("store ") >= 1 && canaries.count("answer ") > 20)
        canaries.printResults("serve --log-level \(level)")
    }

    /// The commands, each with what its result may contain.
    private static let commands: [(words: [String], allowed: Canaries.Allowed)] = [
        (["decode", "receipt.b64"], .contents),
        (["decode", "--format", "text", "receipt.b64", "damaged.b64"], .contents),
        (["verify", "receipt.b64"], .contents), (["verify", "--answer", "receipt", "damaged.b64"], .contents),
        (["verify", "--answer", "api", "receipt.b64"], .contents), (["lookup", "ID"], .contents),
        (["lookup", "1"], .nothing),
        (["forwarding", "list"], .nothing), (["orders", "lookup", "MNQ8S6TDZK"], .nothing),
        (["notifications", "test", "--environment", "sandbox"], .nothing),
        (["compare", "in.jsonl", "--to", "differences.jsonl", "--report", "compared.html"], .values),
        (["compare", "in.jsonl", "--to", "differences2.jsonl", "--report", "compared.json"], .values),
        (["compare", "in.jsonl", "--to", "differences3.jsonl", "--report", "compared.md"], .values),
        (["migrate", "in.jsonl", "--offline", "--to", "out.jsonl", "--report", "migrated.html"], .nothing),
        (["migrate", "in.jsonl.gz", "--to", "api.csv", "--with-api", "--report", "migrated.json"], .nothing),
        (["doctor"], .nothing), (["doctor", "--config", "misplaced.yaml"], .nothing),
        (["serve", "--config", "misplaced.yaml"], .nothing),
        (["doctor", "--config", "damaged-key.yaml"], .nothing),
        (["orders", "lookup", "MNQ8S6TDZK", "--config", "damaged-key.yaml"], .nothing),
        (["notifications", "test", "--environment", "production"], .nothing),
        (["notifications", "history", "--to", "history.jsonl"], .contents),
        (["notifications", "history", "--replay"], .contents),
        (["refunds", "sweep", "--ids", "ids.txt", "--to", "refunds.jsonl"], .contents),
        (["refunds", "sweep", "--ids", "no-ids.txt"], .nothing), (["refunds", "sweep"], .contents),
        (["renewals", "extend", "--original-transaction-id", "ID"] + extensionTerms + ["--dry-run"], .nothing),
        (["renewals", "extend", "--original-transaction-id", "ID"] + extensionTerms, .nothing),
        (["renewals", "extend", "--original-transaction-id", "1"] + extensionTerms, .nothing),
        (
            ["consumption", "send", "ID", "--customer-consented", "--delivery-status", "DELIVERED", "--dry-run"],
            .nothing
        ),
        (["consumption", "send", "ID", "--customer-consented", "--delivery-status", "DELIVERED"], .nothing),
        (["forget", "--original-transaction-id", "ID", "--dry-run"], .nothing),
        (["forget", "--original-transaction-id", "ID"], .nothing),
        (["forget", "--original-transaction-id", "1"], .nothing),
    ]

    private static let extensionTerms = ["--days", "7", "--reason", "1", "--request-id", "canary"]

    // T26
    @Test(
        "Secrets are in no error, report, progress file or process of a command; its result has only what was requested"
    )
    func commands() async throws {
        let fixture = try await CanaryFixture()
        let (canaries, folder) = (fixture.canaries, fixture.stage.folder)
        try folder.write("receipt.b64", fixture.receipt.utf8)
        try folder.write("damaged.b64", fixture.receipt.replacing("M", with: "N").utf8)
        let rows = [fixture.receipt, String(fixture.receipt.dropLast(10)), CanaryTests.wrong, ""].enumerated().map {
            JSONValue(["id": "row \($0)", "receipt": $1]).bytes + [0x0A]
        }
        try folder.write("in.jsonl", rows.joined())
        try fixture.writeMistakes()
        try await Binary.run(
            URL(filePath: "/usr/bin/env"), ["gzip", "-k", folder.path("in.jsonl")], in: folder, exit: 0)
        let id = try #require(fixture.customer.transactions.first).transactionId
        for command in Self.commands { try await fixture.run(command.words, id, allowing: command.allowed) }
        // Commands that write reports or results run once only.
        for endpoint in ["verifyReceipt", "serverAPI"] {
            fixture.stage.appStore.faults.add(SimulatedFault(.status(500), endpoint: endpoint))
        }
        try await concurrently(Self.commands.filter { !$0.words.contains("--to") }) { command in
            try await fixture.run(command.words, id, allowing: command.allowed)
        }
        for (name, allowed) in try written(in: folder) {
            canaries.search(try folder.read(name), of: "file \(name)", allowing: allowed)
        }
        for name in [
            "compared.html", "compared.json", "compared.md", "migrated.html", "migrated.json", "out.jsonl",
            "out.jsonl.progress", "api.csv.progress", "differences.jsonl.progress", "history.jsonl", "refunds.jsonl",
            "bridge.sqlite", "bridge.sqlite.sweep",
        ] { #expect(canaries.count("file \(name)") >= 1, "\(name)") }
        canaries.printResults("commands")
    }

    /// Returns the files that commands wrote, each with what it may contain: data of the Server API in the results of
    /// a migration with it, in the store, and in the notification history; account tokens in the results of a
    /// comparison.
    private func written(in folder: TemporaryFolder) throws -> [(name: String, allowed: Canaries.Allowed)] {
        let kinds: [(prefix: String, allowed: Canaries.Allowed)] = [
            ("bridge.sqlite.sweep", .nothing), ("bridge.sqlite", .contents), ("api.csv", .contents),
            ("history.jsonl", .contents), ("compared", .values), ("differences", .values), ("out.jsonl", .nothing),
            ("migrated", .nothing), ("refunds.jsonl", .contents),
        ]
        return try FileManager.default.contentsOfDirectory(atPath: folder.url.path).compactMap { name in
            kinds.first { name.hasPrefix($0.prefix) }.map { (name, $0.allowed) }
        }
    }
}
