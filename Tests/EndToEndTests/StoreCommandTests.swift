import Foundation
import GRDB
import ReceiptBridgeStorage
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("store copy and store check")
struct StoreCommandTests {
    /// The database for tests as an address; `nil` without the variable.
    static let address: String? = {
        let words = ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_TEST_POSTGRESQL"]?.split(separator: " ")
        guard let words else { return nil }
        let values = Dictionary(
            words.compactMap { word -> (String, String)? in
                let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
                return parts.count == 2 ? (parts[0], parts[1]) : nil
            }, uniquingKeysWith: { $1 })
        guard let host = values["host"], let user = values["user"], let name = values["dbname"] else { return nil }
        return "postgresql://\(user)@\(host.replacing("/", with: "%2F")):\(values["port"] ?? "5432")/\(name)"
    }()

    private func filled() async throws -> CommandFixture {
        let stage = try await CommandFixture(customers: 6)
        try await stage.replay()
        return stage
    }

    @Test("A copied store is the same; a changed one differs")
    func copyAndCheck() async throws {
        let stage = try await filled()
        let stores = ["sqlite:bridge.sqlite", "sqlite:copy.sqlite"]
        try await stage.run(["store", "copy"] + stores, exit: 0, says: " rows: ")
        let same = try await stage.run(["store", "check"] + stores)
        let lines = same.text.split(separator: "\n")
        #expect(same.exit == 0 && lines.count > 20 && lines.allSatisfy { $0.hasPrefix("same ") }, "\(same.text)")
        try await stage.run(["store", "copy"] + stores, exit: 0, says: "the copy is complete")
        let intact = try await stage.run("store", "check", stores[1])
        #expect(intact.exit == 0 && intact.output.isEmpty, "\(intact.errors)")
        try stage.folder.write("empty.sqlite", "")
        try await stage.run(
            "store", "check", "sqlite:empty.sqlite", exit: 0, says: "is intact and has no tables")
        try await stage.change(
            "DELETE FROM notification WHERE id = (SELECT max(id) FROM notification)", in: "copy.sqlite")
        let differs = try await stage.run(["store", "check"] + stores)
        try await stage.run(["store", "copy"] + stores, exit: 2, says: "the store is not empty")
        let different = differs.text.split(separator: "\n").filter { $0.hasPrefix("differs ") }
        #expect(differs.exit == 1 && different.count == 1, "\(differs.text)")
        let json = try await stage.run(["store", "check", "--json"] + stores).lines.first?.elements ?? []
        #expect(json.count(where: { $0["same"] == .bool(false) }) == 1 && json.count > 20)
        #expect(different.first?.contains("notifications") == true)
    }

    @Test("store check finds damaged values and names their columns; doctor and the other commands go on")
    func damaged() async throws {
        let stage = try await filled()
        try await stage.change(
            """
            UPDATE notification SET type = x'C29B00', receivedAt = 'canary' WHERE id < 3;
            UPDATE notification SET type = char(0x9B, 0x202E) WHERE id = 3
            """)
        for store in ["sqlite:bridge.sqlite", "bridge.sqlite"] {
            let check = try await stage.run("store", "check", store, exit: 1)
            #expect(check.text == "damaged  notification.type  2\ndamaged  notification.receivedAt  2\n")
        }
        let doctor = try await stage.run("doctor", "--offline")
        #expect(doctor.exit == 1 && doctor.text.contains("2 values of notification.receivedAt"), "\(doctor.text)")
        let list = try await stage.run("notifications", "list")
        #expect(list.exit == 0 && list.lines.count > 2, "\(list.errors)")
        #expect(list.errors.contains("left out") && !list.errors.contains("canary"), "\(list.errors)")
        // Signed text cannot control a terminal.
        let terminal = try PseudoTerminal(columns: 80)
        let running = try Running(
            ["notifications", "list", "--config", "receipt-bridge.yaml"], in: stage.folder, terminal: terminal,
            showsResults: true)
        #expect(await eventually { terminal.text.contains(#""\u009b\u202e""#) })
        #expect(await running.end() == 0)
        #expect(!terminal.text.contains("\u{202E}"))
    }

    @Test(
        "Stores that cannot be used exit with 2",
        arguments: [
            (["sqlite:missing.sqlite", "sqlite:b.sqlite"], "there is no such store"),
            (["sqlite:a.sqlite", "sqlite:./a.sqlite"], "both stores are sqlite:"),
            (["none", "sqlite:b.sqlite"], "none holds no data"),
            (["sqlite:a.sqlite", "postgresql://u:canary@h/d"], "the address contains a password"),
            (["sqlite:a.sqlite", "mysql:canary"], "expected sqlite:PATH"),
        ])
    func unusable(_ stores: [String], _ message: String) async throws {
        let folder = try TemporaryFolder()
        let outcome = try await Binary.run(Binary.url, ["store", "copy"] + stores, in: folder, exit: 2, says: message)
        #expect(!outcome.errors.contains("canary"))
    }

    @Test("A database that cannot be reached exits with 3, and doctor says what to do")
    func unreachable() async throws {
        let stage = try await CommandFixture(customers: 2)
        let address = "postgresql://bridge@127.0.0.1:1/receipts"
        try stage.configure("database.yaml", store: address)
        try await stage.run("store", "copy", address, "sqlite:b.sqlite", exit: 3, says: address)
        try stage.configure("library.yaml", store: "\(address)\ndatabase: {library: missing.so}")
        let doctor = try await stage.run("doctor", "--offline", "--config", "library.yaml")
        #expect(doctor.exit == 1 && doctor.text.contains("fail  store library"), "\(doctor.text)")
        #expect(doctor.text.contains("apt-get install libpq5"))
        try stage.folder.write("password.txt", "open sesame")
        try stage.configure("password.yaml", store: "\(address)\ndatabase: {password: {file: password.txt}}")
        let warned = try await stage.run("doctor", "--offline", "--config", "password.yaml")
        // libpq 16 and later require SCRAM.
        let version = warned.text.firstMatch(of: /pass  store library .* libpq (\d+)/).flatMap { Int($0.1) }
        #expect(warned.text.contains("warn  store password") == version.map { $0 < 16 } ?? false, "\(warned.text)")
    }

    // Skipped without the variable, which `make test-postgresql` sets.
    @Test(
        "A store moves to PostgreSQL and back, and doctor checks the database",
        .enabled(if: address != nil, "needs PostgreSQL: make test-postgresql"))
    func database() async throws {
        let stage = try await filled()
        let schema = "store_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
        let address = "\(try #require(Self.address))?options=-csearch_path%3D\(schema)"
        try stage.configure("database.yaml", store: address)
        let missing = try await stage.run("doctor", "--config", "database.yaml")
        #expect(missing.exit == 1 && missing.text.contains("CREATE SCHEMA AUTHORIZATION"), "\(missing.text)")
        try await Self.run("CREATE SCHEMA \(schema)")
        for stores in [["sqlite:bridge.sqlite", address], [address, "sqlite:back.sqlite"]] {
            try await stage.run(["store", "copy"] + stores, exit: 0)
            try await stage.run(["store", "check"] + stores, exit: 0)
        }
        let doctor = try await stage.run("doctor", "--config", "database.yaml")
        for name in ["store library", "store", "store TLS", "store rights", "store isolation", "store clock"] {
            #expect(doctor.text.contains("pass  \(name) "), "\(name): \(doctor.text)")
        }
        #expect(doctor.text.contains("pass  store schema"), "\(doctor.text)")
        try await Self.run("DROP SCHEMA \(schema) CASCADE")
    }

    static func run(_ sql: String) async throws {
        let words = ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_TEST_POSTGRESQL"] ?? ""
        let parameters = words.split(separator: " ").compactMap { word -> (keyword: String, value: String)? in
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            return parts.count == 2 ? (parts[0], parts[1]) : nil
        }
        let client = PostgreSQLClient(PostgreSQLConfiguration(parameters: parameters, connections: 1))
        try await client.connected(within: .seconds(10))
        _ = try await client.query(PostgreSQLQuery(sql), within: .seconds(30))
        await client.close()
    }
}
