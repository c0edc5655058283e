import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Options of migrate that need others", .timeLimit(.minutes(1)))
struct MigrateOptionsTests {
    private static let lookups = "--with-api and a configuration"
    private static let file = "a file as the destination, not postgresql://"
    private static let filter = "cannot be combined with --to -: a filter only decodes, and stores nothing"
    private static let database = "postgresql://u@127.0.0.1:1/d"

    /// The destination, what the error says of an option, and options of which it says so alone.
    private static let single: [(destination: String, sentence: String, options: [String])] = [
        (
            "out.jsonl", "needs \(lookups)",
            [
                "--plan", "--refresh", "--active-first", "--no-store", "--allow-unverified",
                "--account-token-column user", "--transactions t.csv", "--subscriptions s.jsonl",
            ]
        ),
        ("out.jsonl", "needs --allow-unverified", ["--bundle-id com.example.app"]),
        ("out.jsonl", "needs --account-token-column", ["--set-account-tokens"]),
        ("out.jsonl", "needs a postgresql:// destination", ["--shard 1/4"]),
        (database, "needs \(lookups)", ["--active-first", "--no-store"]),
        (
            database, "needs \(file)",
            [
                "--refresh", "--report r.json", "--transactions t.csv", "--subscriptions s.csv", "--output-format csv",
                "--account-token-column user",
            ]
        ),
        (
            "-", filter,
            [
                "--with-api", "--plan", "--refresh", "--active-first", "--no-store", "--allow-unverified",
                "--account-token-column user", "--report r.html", "--transactions t.csv", "--subscriptions s.csv",
                "--table t", "--fresh", "--json", "--limit 1", "--max-hours 1",
            ]
        ),
        ("-", "needs a postgresql:// destination", ["--shard 1/4"]),
    ]

    @Test("An option that would be ignored is rejected by name with what it needs, and no file is written")
    func rejected() async throws {
        let folder = try TemporaryFolder()
        try folder.write("in.jsonl", "{\"receipt\":\"AAAA\"}\n")
        func expect(_ destination: String, _ options: String, _ sentence: String) async throws {
            let words = ["migrate", "in.jsonl", "--to", destination] + options.split(separator: " ").map(String.init)
            let outcome = try await Binary.run(Binary.url, words, in: folder)
            #expect(outcome.exit == 2 && outcome.output.isEmpty, "\(words): \(outcome.exit)")
            #expect(outcome.errors.contains(": \(sentence)\n"), "\(words): \(outcome.errors)")
        }
        for (destination, sentence, options) in Self.single {
            for option in options {
                try await expect(destination, option, "\(option.prefix { $0 != " " }) \(sentence)")
            }
        }
        try await expect("out.jsonl", "--active-first --refresh", "--refresh, --active-first need \(Self.lookups)")
        try await expect("-", "--fresh --with-api", "--with-api, --fresh \(Self.filter)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { !$0.hasPrefix(".") }
        #expect(names == ["in.jsonl"])
    }
}
