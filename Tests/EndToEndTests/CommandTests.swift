import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Commands")
struct CommandTests {
    private func folder() throws -> TemporaryFolder {
        let folder = try TemporaryFolder.simulated()
        try folder.write("app.b64", try SharedSimulator.receipt(.activeSubscription).base64.utf8)
        try folder.write("old.b64", try SharedSimulator.receipt(.oldActiveSubscription, version: 4).base64.utf8)
        try folder.write(
            "over.b64", try SharedSimulator.receipt(.oldExpiredSubscription, .sandbox, version: 4).base64.utf8)
        try folder.write("empty.b64", try SharedSimulator.receipt(.noPurchases).base64.utf8)
        for receipt in try SharedSimulator.hostile {
            try folder.write("h-\(receipt.mangling)", receipt.text.utf8)
        }
        return folder
    }

    // MARK: - Usage

    static let mistakes: [[String]] = [
        ["--nonsense"], ["nonsense"], ["decode", "--format", "xml", "-"], ["verify", "--answer", "oracle", "-"],
        ["verify", "--environment", "moon", "-"], ["serve", "--listen", "8080"], ["serve", "--config", "nowhere.yaml"],
        ["serve", "extra"], ["decode", "--roots", "nowhere", "-"], ["simulate", "--customers", "0"],
        ["simulate", "--clock", "noon"], ["simulate", "--listen", "x"], ["serve", "--config", "bad.yaml"],
        ["verify", "--config", "bad.yaml", "-"], ["verify", "--answer", "api", "-"], ["migrate", "nowhere.jsonl"],
        ["migrate", "nowhere.jsonl", "--to", "out.jsonl"],
        ["migrate", "nowhere.jsonl", "--to", "out.txt"],
        ["migrate", "nowhere.jsonl", "--to", "out.jsonl", "--max-hours", "1e300"],
        ["migrate", "nowhere.jsonl", "--to", "out.jsonl", "--plan"],
        ["migrate", "nowhere.jsonl", "--to", "out.jsonl", "--with-api"],
        ["migrate", "nowhere.jsonl", "--to", "out.jsonl", "--with-api", "--offline"],
        ["migrate", "nowhere.jsonl", "--to", "out.jsonl", "--report", "report.pdf"],
        ["orders", "lookup"], ["orders", "lookup", "M1"], ["refunds", "sweep"],
        ["refunds", "sweep", "--bundle-id", "a"], ["refunds", "sweep", "--ids", "a.txt", "--bundle-id", "a b"],
        ["refunds", "sweep", "--limit", "0"], ["renewals", "extend"],
        ["renewals", "extend", "--original-transaction-id", "1"], ["renewals", "extend", "--mass", "--days", "1"],
        ["renewals", "extend", "--status", "--product-id", "a"], ["consumption", "send", "1"],
        ["consumption", "send", "1", "--customer-consented", "--delivery-status", "DELIVERED"],
        ["notifications", "test"], ["notifications", "test", "--patience", "0"], ["notifications", "history"],
        ["notifications", "history", "--environment", "moon"],
        ["decode", "nowhere.b64"], ["verify", "nowhere.b64"],
        ["mappings", "check", "nowhere"], ["mappings", "list", "--format", "xml"], ["mappings", "convert", "-"],
        ["mappings", "convert", "--to", "kebab", "-"], ["mappings", "convert", "--to", "camel", "nowhere"],
    ]

    @Test(
        "A command exits with 2 on a usage error, reports it on standard error and prints no result",
        arguments: mistakes)
    func mistake(arguments: [String]) async throws {
        let folder = try TemporaryFolder()
        try folder.write("bad.yaml", "listn: 1\napps: 5\n".utf8)
        let outcome = try await Binary.run(Binary.url, arguments, in: folder, exit: 2)
        #expect(outcome.errors.hasPrefix("receipt-bridge: "), "\(outcome.errors)")
        if arguments.first != "decode" { #expect(outcome.output.isEmpty) }
        if arguments.contains("bad.yaml") {
            #expect(outcome.errors.contains("bad.yaml: listn: unknown key"))
            #expect(outcome.errors.contains("bad.yaml: apps: expected a list"))
        }
    }

    @Test(
        "A value outside an option's range is refused, and the range is named",
        arguments: [
            (
                "--budget 1.01", "0.01 to 1",
                ["refunds sweep", "reconcile", "compare a.jsonl", "orders lookup --ids a.txt"]
            ),
            (
                "--limit 0", "at least 1",
                ["refunds sweep", "compare a.jsonl", "orders lookup --ids a.txt", "notifications list"]
            ),
            (
                "--max-hours 100001", "more than 0, at most 100000",
                ["refunds sweep", "compare a.jsonl", "orders lookup --ids a.txt"]
            ),
            ("--since noon", "must be an instant", ["refunds sweep", "notifications list", "consumption list"]),
            ("--start noon", "must be an instant", ["notifications history"]),
            ("--end noon", "must be an instant", ["notifications history"]),
        ])
    func range(option: String, range: String, commands: [String]) async throws {
        let folder = try TemporaryFolder()
        let name = option.prefix { $0 != " " }
        for command in commands {
            try await Binary.run(
                Binary.url, "\(command) \(option)".split(separator: " ").map(String.init), in: folder, exit: 2,
                says: "\(name): \(range)")
        }
    }

    @Test("A configuration is read from standard input")
    func configurationFromStandardInput() async throws {
        let folder = try TemporaryFolder()
        for name in ["-", "/dev/stdin"] {
            let outcome = try await Binary.run(
                "doctor", "--offline", "--config", name, input: Array("apps: [{bundleId: com.example.piped}]".utf8),
                in: folder)
            #expect(outcome.text.contains("1 app: com.example.piped"), "\(outcome.text) \(outcome.errors)")
        }
        let empty = try await Binary.run("doctor", "--offline", "--config", "-", in: folder)
        #expect(empty.exit == 2 && empty.text.contains("standard input: is empty"), "\(empty.text)")
    }

    @Test("A command exits with 2 if the test roots contain no certificate or an invalid one, and names the file")
    func uselessRoots() async throws {
        let folder = try TemporaryFolder()
        for name in ["empty", "broken"] {
            try FileManager.default.createDirectory(
                at: folder.url.appending(path: name), withIntermediateDirectories: true)
        }
        try folder.write("empty/README", "not a certificate".utf8)
        try folder.write("broken/a.cer", "not a certificate".utf8)
        for (roots, expected) in [
            ("empty", "--roots: no certificate in empty"), ("broken", "--roots: broken/a.cer cannot be used: "),
            ("nowhere", "--roots: cannot read \(folder.path("nowhere")): there is no such file"),
        ] {
            for arguments in [["decode", "-"], ["serve", "--listen", "127.0.0.1:0"]] {
                let outcome = try await Binary.run(Binary.url, arguments + ["--roots", roots], in: folder)
                #expect(outcome.exit == 2 && outcome.output.isEmpty)
                #expect(outcome.errors.hasPrefix("receipt-bridge: \(expected)"), "\(outcome.errors)")
                // In addition, the server reports that Apple's hosts, which are the default, are not allowed with
                // test roots.
                let lines = arguments[0] == "serve" ? 3 : 1
                #expect(outcome.errors.split(separator: "\n").count == lines, "\(outcome.errors)")
            }
        }
    }

    @Test(
        "A command prints its help to standard output",
        arguments: [
            "", "decode", "verify", "serve", "simulate", "mappings", "orders", "refunds", "renewals", "consumption",
            "notifications", "forwarding",
        ])
    func help(command: String) async throws {
        let arguments = (command.isEmpty ? [] : [command]) + ["--help"]
        let outcome = try await Binary.run(Binary.url, arguments, in: TemporaryFolder())
        #expect(outcome.exit == 0 && outcome.text.contains("USAGE: receipt-bridge"))
        #expect(outcome.errors.isEmpty)
    }

    /// Returns the name and the description of each command without subcommands, from `--experimental-dump-help`.
    private func leaves(_ command: JSONValue, _ path: [String] = []) -> [(words: [String], command: JSONValue)] {
        let words = path + [command["commandName"]?.text ?? ""]
        guard command["shouldDisplay"] != .bool(false), words.last != "help" else { return [] }
        let inner = command["subcommands"]?.elements ?? []
        return inner.isEmpty ? [(words, command)] : inner.flatMap { leaves($0, words) }
    }

    @Test("Each command has a valid example, descriptive value names, and file name completion")
    func examples() async throws {
        let dump = try await Binary.run("--experimental-dump-help", in: TemporaryFolder())
        let root = try #require(try JSONValue(reading: dump.output)["command"])
        let all = leaves(root)
        #expect(all.count == 30, "\(all.map(\.words))")
        for (words, command) in all {
            let lines = (command["discussion"]?.text ?? "").split(separator: "\n")
            let exampleLine = lines.firstIndex { $0 == "Example:" }
            let example = exampleLine.map { lines[($0 + 1)...].joined(separator: " ") } ?? ""
            #expect(lines.allSatisfy { !$0.hasPrefix("  ") || $0.count < 80 }, "\(words)")
            #expect(example.hasPrefix("  " + words.joined(separator: " ")), "\(words): \(lines)")
            let arguments = command["arguments"]?.elements ?? []
            let names = arguments.flatMap { $0["names"]?.elements?.compactMap { $0["name"]?.text } ?? [] }
            #expect(
                names.contains("json") != Self.silent.contains(words.dropFirst().joined(separator: " ")), "\(words)")
            for word in example.split(separator: " ") where word.hasPrefix("--") {
                #expect(names.contains(String(word.dropFirst(2))), "\(words): \(word)")
            }
            for argument in arguments
            where argument["kind"]?.text == "option" && argument["shouldDisplay"] == .bool(true) {
                let name = argument["preferredName"]?["name"]?.text ?? ""
                #expect(
                    argument["valueName"]?.text != name || argument["allValues"] != nil || Self.spoken.contains(name),
                    "\(words): --\(name) <\(name)>")
            }
        }
        let completion = try await Binary.run("--generate-completion-script", "bash", in: TemporaryFolder())
        #expect(
            completion.exit == 0 && completion.text.contains("_add_completions -d\n")
                && completion.text.contains("_add_completions -f\n"))
    }

    /// Commands without a report that could be JSON.
    private static let silent = ["init", "serve", "simulate", "store copy"]

    /// Options whose name already describes the value.
    private static let spoken = [
        "bundle-id", "environment", "product-id", "days", "type", "subtype", "transaction-id", "only",
    ]

    // MARK: - decode

    @Test("decode --format text lists the claims of a JWS, including JWS inside it")
    func decodeSignedText() async throws {
        let folder = try TemporaryFolder()
        let line = #"{"alg":"ES256"}"#
        let claims = #"{"transactionId":"7","bundleId":"com.example.app","purchaseDate":1795262400000}"#
        let text = [line, claims, "x"].map {
            Data($0.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
                "=", with: "")
        }.joined(separator: ".")
        try folder.write("a.jws", text.utf8)
        let outcome = try await Binary.run("decode", "--format", "text", "a.jws", in: folder, exit: 1)
        #expect(
            outcome.text.hasPrefix("a.jws: signed transaction (JWS), NOT AUTHENTIC\n")
                && outcome.text.hasSuffix(
                    """
                      environment:  unknown
                      bundle id:    com.example.app
                      transactionId: 7
                      bundleId: com.example.app
                      purchaseDate: 2026-11-21T12:00:00Z (1795262400000)

                    """),
            "\(outcome.text)")
    }

    @Test("decode prints one line per input, in order, with the same keys in each")
    func decode() async throws {
        let folder = try folder()
        let outcome = try await Binary.run(
            "decode", "--roots", "roots", "app.b64", "-", "h-tamperedByte", "h-notBase64", "nowhere", "empty.b64",
            input: Array(try SharedSimulator.receipt(.oldActiveSubscription, version: 4).base64.utf8), in: folder,
            exit: 2)
        let lines = outcome.lines
        try #require(lines.count == 6, "\(outcome.text)")
        #expect(
            lines.map { $0["file"]?.text } == ["app.b64", "-", "h-tamperedByte", "h-notBase64", "nowhere", "empty.b64"])
        #expect(
            lines.map { $0["kind"]?.text } == [
                "appReceipt", "transactionReceipt", "appReceipt", "unknown", "unknown", "appReceipt",
            ])
        #expect(lines.map { $0["verified"]?.flag } == [true, true, false, false, false, true])
        #expect(
            lines.map { $0["failure"]?["code"]?.text } == [nil, nil, "badSignature", "notBase64", "unreadable", nil])
        for line in lines {
            let expected = [
                "file", "kind", "verified", "repairs", "failure", "environment", "bundleId", "receipt", "transactions",
                "lookupKeys",
            ]
            #expect(line.keys.filter { $0 != "environmentConflict" } == expected)
            #expect(line["lookupKeys"]?.keys == ["originalTransactionIds", "transactionIds"])
        }
        #expect(lines[1]["environmentConflict"]?.flag == false && lines[1]["transactions"]?.elements?.count == 1)
        #expect(lines[0]["environment"]?.text == "Production" && lines[0]["bundleId"]?.text == "com.example.app")
        let receipt = try SharedSimulator.receipt(.activeSubscription)
        #expect(lines[0]["transactions"]?.elements?.count == receipt.transactions.count)
        #expect(
            lines[0]["lookupKeys"]?["originalTransactionIds"]?.elements?.map(\.text) == receipt.originalTransactionIds)
        #expect(
            lines[0]["lookupKeys"]?["transactionIds"]?.elements?.compactMap(\.text)
                == Set(receipt.transactions.map(\.transactionId)).sorted())
        // The content is printed although it is not authentic.
        #expect(lines[2]["transactions"]?.elements?.count == receipt.transactions.count)
        #expect(lines[5]["transactions"] == .array([]))
    }

    @Test("decode exits with 0 if all inputs are authentic and 1 otherwise, and trusts test roots only on request")
    func decodeExits() async throws {
        let folder = try folder()
        #expect(try await Binary.run("decode", "--roots", "roots", "app.b64", "old.b64", in: folder).exit == 0)
        #expect(try await Binary.run("decode", "--config", "receipt-bridge.yaml", "app.b64", in: folder).exit == 0)
        #expect(try await Binary.run("decode", "--roots", "roots", "h-swappedContent", "app.b64", in: folder).exit == 1)
        let bare = try await Binary.run("decode", "app.b64", in: folder)
        #expect(bare.exit == 1 && bare.lines.first?["verified"]?.flag == false)
        let piped = try await Binary.run(
            "decode", "--roots", "roots", input: Array(try SharedSimulator.receipt(.nonConsumable).base64.utf8),
            in: folder)
        #expect(piped.exit == 0 && piped.lines.first?["file"]?.text == "-")
    }

    @Test("decode repairs damaged receipts and rejects forged ones")
    func decodeHostile() async throws {
        let folder = try folder()
        let hostile = try SharedSimulator.hostile
        let names = hostile.map { "h-\($0.mangling)" }
        let outcome = try await Binary.run(Binary.url, ["decode", "--roots", "roots"] + names, in: folder)
        try #require(outcome.lines.count == hostile.count)
        for (line, receipt) in zip(outcome.lines, hostile) where receipt.mangling != "signedTransaction" {
            #expect(line["verified"]?.flag == (receipt.expected != .refused), "\(receipt.mangling)")
            guard receipt.expected != .refused else { continue }
            #expect(
                line["lookupKeys"]?["originalTransactionIds"]?.elements?.map(\.text) == receipt.originalTransactionIds,
                "\(receipt.mangling)")
        }
    }

    @Test("decode --format text prints a readable description")
    func decodeText() async throws {
        let outcome = try await Binary.run(
            "decode", "--format", "text", "--roots", "roots", "app.b64", "h-tamperedByte", in: try folder(), exit: 1)
        #expect(outcome.text.contains("app.b64: App Receipt, authentic\n"))
        #expect(outcome.text.contains("h-tamperedByte: App Receipt, NOT AUTHENTIC\n"))
        #expect(outcome.text.contains("  bundle id:    com.example.app\n"))
        #expect(outcome.text.contains("com.example.app.monthly"))
    }

    // MARK: - verify

    @Test("verify prints exactly the response, and exits with 0 only for the statuses 0 and 21006")
    func verify() async throws {
        let folder = try folder()
        func verify(_ file: String, _ more: String...) async throws -> (exit: Int32, status: Int64?, text: String) {
            let outcome = try await Binary.run(
                Binary.url, ["verify", "--roots", "roots", "--answer", "receipt", file] + more, in: folder)
            let status = try JSONValue(reading: outcome.output)["status"]?.integer
            // A rejection has its reason there.
            #expect(!outcome.text.hasSuffix("\n") && outcome.errors.isEmpty == ![21002, 21003].contains(status))
            return (outcome.exit, status, outcome.text)
        }
        let app = try await verify("app.b64")
        #expect(app.exit == 0 && app.status == 0)
        let over = try await verify("over.b64")
        #expect(over.exit == 0 && over.status == 21006)
        #expect(try await verify("over.b64", "--environment", "production").text == #"{"status":21007}"#)
        #expect(try await verify("app.b64", "--environment", "sandbox").text == #"{"status":21008}"#)
        #expect(try await verify("app.b64", "--environment", "sandbox").exit == 1)
        #expect(try await verify("h-tamperedByte").text == #"{"status":21003}"#)
        #expect(try await verify("h-tamperedByte").exit == 1)
        #expect(try await verify("h-notBase64").text == #"{"status":21002}"#)
        let all = try JSONValue(reading: Array(app.text.utf8))["latest_receipt_info"]?.elements?.count ?? 0
        let newest = try await verify("app.b64", "--exclude-old-transactions")
        #expect(all > 2, "periods of a subscription, and a non-consumable")
        #expect(try JSONValue(reading: Array(newest.text.utf8))["latest_receipt_info"]?.elements?.count == 2)
    }

    @Test("verify sends requests to the configured hosts with the configured secret")
    func verifyByApple() async throws {
        let stage = try await CommandFixture(customers: 4, store: nil, clock: .fixed(SharedSimulator.noon))
        let store = stage.appStore
        func verify(
            _ id: String, config: String = "receipt-bridge.yaml", environment: [String: String] = [:]
        ) async throws -> Binary.Outcome {
            try await stage.run(
                ["verify", "--config", config, "--answer", "apple", "receipts/\(id).b64"], environment: environment)
        }
        for id in store.receipts.map(\.id) {
            let outcome = try await verify(id)
            #expect(outcome.exit == 0, "\(id): \(outcome.text) \(outcome.errors)")
        }
        #expect(store.requests.last.allSatisfy(\.hasPassword) && store.requests.total >= store.receipts.count)
        try stage.folder.write(
            "wrong.yaml", try stage.configuration().replacing("com.example.app", with: "com.exmaple.app"))
        let active = try #require(store.receipts.first { $0.customer.kind == .activeSubscription })
        let wrong = try await verify(active.id, config: "wrong.yaml")
        #expect(wrong.text.contains(#""status":21004"#))
        #expect(wrong.errors.contains("Did you mean com.example.app instead of com.exmaple.app?"), "\(wrong.errors)")
        #expect(wrong.errors.contains("21004: the request has no password, and no shared secret is configured"))
        store.faults.add(SimulatedFault(.html))
        for (configured, status) in [(nil, 21005), ("21150", 21150), ("503", 21005)] as [(String?, Int)] {
            let environment = configured.map { ["RECEIPT_BRIDGE_OUTAGESTATUS": $0] } ?? [:]
            let down = try await verify("c000001-r1", environment: environment)
            #expect(down.exit == 1)
            #expect(down.text == #"{"status":\#(status),"is_retryable":true,"is-retryable":true}"#)
        }
    }

    // MARK: - mappings

    @Test("mappings check prints ok for each table, or reports file, row and reason and exits with 2")
    func mappingsCheck() async throws {
        let mappings = Repository.folder.appending(path: "Mappings")
        for arguments in [[], [mappings.path]] {
            let outcome = try await Binary.run(Binary.url, ["mappings", "check"] + arguments, in: TemporaryFolder())
            #expect(outcome.exit == 0 && outcome.errors.isEmpty)
            #expect(outcome.text.hasPrefix("answer.json: ok\n") && outcome.text.split(separator: "\n").count == 8)
        }
        let folder = try TemporaryFolder()
        for file in try FileManager.default.contentsOfDirectory(at: mappings, includingPropertiesForKeys: nil) {
            try folder.write(file.lastPathComponent, try Data(contentsOf: file))
        }
        let renewal = try String(contentsOf: mappings.appending(path: "renewal.json"), encoding: .utf8)
        try folder.write("renewal.json", renewal.replacing("flagAsDigit", with: "flagAsEmoji").utf8)
        let outcome = try await Binary.run("mappings", "check", ".", in: folder)
        #expect(outcome.exit == 2 && outcome.text.split(separator: "\n").count == 7)
        #expect(
            outcome.errors.hasPrefix(
                #"receipt-bridge: renewal.json, rows[3] "is_in_billing_retry_period": unknown conversion flagAsEmoji"#),
            "\(outcome.errors)")
    }

    @Test("mappings convert converts a verifyReceipt response to camelCase and back, byte for byte")
    func mappingsConvert() async throws {
        let folder = try folder()
        let answer = try await Binary.run("verify", "--roots", "roots", "--answer", "receipt", "app.b64", in: folder)
        let camel = try await Binary.run("mappings", "convert", "--to", "camel", "-", input: answer.output, in: folder)
        #expect(camel.exit == 0 && camel.errors.isEmpty)
        #expect(camel.lines.first?["latestTransactions"]?.elements?.isEmpty == false)
        let back = try await Binary.run("mappings", "convert", "--to", "snake", "-", input: camel.output, in: folder)
        #expect(back.exit == 0 && back.text == answer.text + "\n")
        let refused = try await Binary.run("mappings", "convert", "--to", "camel", "-", input: [0x5B], in: folder)
        #expect(refused.exit == 1 && refused.errors == "receipt-bridge: -: not a JSON object\n")
        let unheard = Array(#"{"status":0,"receipt":{"new-key":1,"in_app":[]}}"#.utf8)
        let passed = try await Binary.run("mappings", "convert", "--to", "camel", "-", input: unheard, in: folder)
        #expect(passed.exit == 0 && passed.errors == "receipt-bridge: -: ignored unknown keys: receipt.new-key\n")
        let twice = try await Binary.run("mappings", "convert", "--to", "snake", "-", input: answer.output, in: folder)
        #expect(twice.exit == 1 && twice.output.isEmpty)
        #expect(
            twice.errors
                == "receipt-bridge: -: this is already a verifyReceipt response; use --to camel to convert it\n")

        let mappings = Repository.folder.appending(path: "Mappings")
        try FileManager.default.createDirectory(
            at: folder.url.appending(path: "tables"), withIntermediateDirectories: true)
        // Not copyItem(at:to:), because it preserves the owner, which only root may do with another user's files.
        for file in try FileManager.default.contentsOfDirectory(at: mappings, includingPropertiesForKeys: nil) {
            try folder.write("tables/\(file.lastPathComponent)", try Data(contentsOf: file))
        }
        let transactions = try String(contentsOf: mappings.appending(path: "transaction.json"), encoding: .utf8)
        try folder.write(
            "tables/transaction.json", transactions.replacing(#""wire": "quantity""#, with: #""wire": "number""#).utf8)
        let options = ["--mappings", "tables"]
        let other = try await Binary.run(
            Binary.url, ["mappings", "convert", "--to", "snake", "-"] + options, input: camel.output, in: folder)
        #expect(other.exit == 0 && other.text.contains(#""number":"1""#))
        let listed = try await Binary.run(Binary.url, ["mappings", "list"] + options, in: folder)
        #expect(listed.exit == 0 && listed.text.contains("  number "))
        let missing = try await Binary.run(Binary.url, ["mappings", "list", "--mappings", "nowhere"], in: folder)
        #expect(missing.exit == 2 && missing.output.isEmpty)
    }
}
