import ReceiptBridgeCore
import Foundation
import ReceiptBridgeResponses
import ReceiptBridgeServer
import Testing
import ReceiptBridgeTestSupport

/// Checks that the table of settings, the reader, docs/CONFIGURATION.md and a reload know the same keys. For a new key
/// these tests fail until the document is written again and, if its values are neither a range nor a choice, until it
/// is in ``sample``.
@Suite("Configuration keys")
struct ConfigurationKeysTests {
    /// Every key on a line of its own, with two values separated by ` | `. A key without a second value is in
    /// ``unchangeable``.
    private static let sample = """
        listen: 127.0.0.1:1 | 127.0.0.1:2
        operations:
          listen: 127.0.0.1:3 | 127.0.0.1:4
          drainSeconds: 1 | 2
        tokens:
          - file: a.txt | b.txt
        store: sqlite:a.sqlite | sqlite:b.sqlite
        instance: a | b
        events: true | false
        database:
          password:
            file: a.txt | b.txt
          connections: 5 | 6
          statementSeconds: 6 | 7
          preparedStatements: true | false
          library: a.so | b.so
        retention:
          notifications: 500 | forever
          superseded: 500 | forever
          customers: 500 | forever
          comparisons: 500 | forever
          forwardedDeliveries: 500 | forever
          learntIdentifiers: 500 | forever
          refunds: 500 | forever
          events: 5 | forever
        reconcile:
          window: 3d | 12h
          at: 04:00 | 05:30
        profile: apple | tolerant
        mappings: tables-a | tables-b
        trust:
          roots: [a.cer] | [b.cer]
          intermediates: [a.cer] | [b.cer]
        upstream:
          verifyReceipt:
            production: https://a.example/p | https://b.example/p
            sandbox: https://a.example/s | https://b.example/s
          serverAPI:
            production: https://a.example | https://b.example
            sandbox: https://s.example | https://t.example
          proxy: http://a.example:3128 | http://b.example:3128
        sharedSecret:
          file: a.txt | b.txt
        unknownApps: pass | refuse
        deadlineSeconds: 5 | 6
        outageStatus: 21005 | 503
        lastGood:
          days: 7 | 8
          megabytes: 3 | 4
        limits:
          requestsPerMinute: 600 | 601
          connections: 500 | 501
          connectionsPerClient: 50 | 51
          headSeconds: 5 | 6
          requestSeconds: 30 | 31
        trustedProxies: [10.0.0.1] | [10.0.0.2]
        userHeader: X-User | X-Account
        tls:
          certificate: a.pem | b.pem
          privateKey: key.pem
        apps:
          - bundleId: com.example.one
            appAppleId: 1 | 2
            sharedSecret:
              file: a.txt | b.txt
            acceptedSecrets:
              - file: a.txt | b.txt
            clientPassword: optional | required
            sandbox: allow | deny
            replay: report | refuse
            serverAPI:
              issuerId: i | j
              keyId: k | l
              privateKey:
                file: a.p8 | b.p8
            answer: [apple, receipt] | [apple, stored]
            staleSubscription: retry | answer
            unknownTransaction: receipt | accountNotFound
            signedTransactions: answer | refuse
            latestReceiptInfoOrder: ascending | descending
            refundedConsumables: drop | keep
            cacheSeconds: 60 | 61
            storedMaxAge: 3600 | 3601
            recheck: [REFUND] | [DID_RECOVER]
            shadow: none | api
            shadowSampling: 0.5 | 1
            rollout:
              source: api | stored
              percent: 5 | 20
              stopAt: 0.5 | 1
            comparisonRules:
              order: expected | ignore
            forward:
              - url: https://a.example | https://b.example
                as: raw | camel
                secret:
                  file: a.txt | b.txt
                concurrency: 8 | 9
              - url: https://c.example
                as: v1
                password:
                  file: a.txt | b.txt
                v1Profile: current | 2020
                latestReceipt: transaction | absent
                numbers: true | false
          - bundleId: com.example.two
            sandbox:
              testers: [1] | [2]
        """

    /// The bundle id identifies an app, and a private key belongs to its certificate, so neither can change alone.
    private static let unchangeable: Set = ["tls.privateKey", "apps[].bundleId"]

    private struct Line {
        /// The path of the key, for example `apps[].forward[].url`.
        let key: String
        let first: String
        /// The line with the second value; `nil` if the key has one value, or other keys inside it.
        let second: String?
    }

    /// The lines of the sample, and one for each other key whose values the table lists.
    private static let lines: [Line] = {
        var text = sample.split(separator: "\n").map(String.init)
        for (key, first, second) in SettingsDocument.examples {
            let known = lines(of: text).map(\.key)
            guard !known.contains(where: { $0 == key || $0.hasPrefix("\(key).") }) else { continue }
            let names = key.split(separator: ".")
            let parent = names.dropLast().joined(separator: ".").replacing(/^apps\[\]$/, with: "apps[].bundleId")
            let place = known.firstIndex(of: parent).map { $0 + 1 } ?? 0
            let indentation = (names.count - 1) * 2 + (names[0] == "apps[]" ? 2 : 0)
            let line = "\(names.last ?? ""): \(first) | \(second)"
            text.insert(String(repeating: " ", count: indentation) + line, at: place)
        }
        return lines(of: text)
    }()

    private static func lines(of text: [String]) -> [Line] {
        var path: [(indentation: Int, name: String)] = []
        return text.map { line in
            let text = line.replacing("- ", with: "  ")
            let indentation = text.prefix { $0 == " " }.count
            path.removeAll { $0.indentation >= indentation }
            if text != line, let list = path.indices.last, !path[list].name.hasSuffix("[]") { path[list].name += "[]" }
            path.append((indentation, String(text.dropFirst(indentation).prefix { $0 != ":" })))
            let values = line.split(separator: " | ")
            let start = line.prefix { $0 != ":" }
            return Line(
                key: path.map(\.name).joined(separator: "."), first: String(values[0]),
                second: values.count == 2 ? "\(start): \(values[1])" : nil)
        }
    }

    /// The keys without other keys inside them.
    private static let leaves: [String] = {
        let keys = lines.map(\.key)
        return keys.filter { key in !keys.contains { $0.hasPrefix("\(key).") || $0.hasPrefix("\(key)[].") } }
    }()

    /// The sample with the first value of each key, except one line that has its second value.
    ///
    /// - Parameter isWhole: false leaves out `mappings`, whose tables take most of the time of reading.
    private static func document(changing changed: Int? = nil, isWhole: Bool = true) -> String {
        lines.enumerated().filter { isWhole || $0.element.key != "mappings" }
            .map { $0.offset == changed ? $0.element.second ?? "" : $0.element.first }
            .joined(separator: "\n")
    }

    /// Writes the files that the sample names.
    private static func folder() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for name in ["a", "b"] {
            try folder.write("\(name).txt", "a-secret-of-16-bytes-\(name)")
            try folder.write("\(name).p8", "key-\(name)")
            for table in FieldTables.fileNames {
                let file = Repository.folder.appending(path: "Mappings/\(table)")
                try folder.write("tables-\(name)/\(table)", try Data(contentsOf: file))
            }
        }
        let first = try ListenerPair()
        let second = try ListenerPair(key: first.key)
        try folder.write("key.pem", first.keyPEM)
        for (name, pair) in [("a", first), ("b", second)] {
            try folder.write("\(name).pem", pair.chainPEM)
            try folder.write("\(name).cer", pair.authority)
        }
        return folder
    }

    /// Removes indexes and bundle ids, for example from `apps[0].sandbox` and `apps[com.example.one].sandbox`, which
    /// both become `apps[].sandbox`.
    private func normalized(_ key: String) -> String { key.replacing(/\[[^\]]+\]/, with: "[]") }

    // MARK: - The reader

    @Test("The reader requests exactly the keys of the sample")
    func reader() throws {
        let folder = try Self.folder()
        let requested = try ConfigurationFile.requestedKeys(in: Self.document(), folder: folder.url, checks: .server)
        // The names of comparison rules are keys as well. They are documented in docs/comparison-rules.csv.
        let rules = "apps[].comparisonRules."
        let unlike = Set(requested.map(normalized)).symmetricDifference(Self.lines.map(\.key))
        #expect(unlike.filter { !$0.hasPrefix(rules) } == [])
        let changeable = Set(Self.lines.filter { $0.second != nil }.map(\.key))
        #expect(Set(Self.leaves).subtracting(changeable) == Self.unchangeable)
    }

    // MARK: - Documentation

    @Test("docs/CONFIGURATION.md contains the current tables; RECORD_GOLDENS=1 writes them there and fails once")
    func document() throws {
        #expect(
            try RecordedDocument.has(SettingsDocument.markdown, in: "docs/CONFIGURATION.md", section: "settings"),
            "\(RecordedDocument.hint)")
    }

    /// The variables of keys whose values the file cannot have either: a mapping, a list of mappings, or a bundle id.
    private static let withoutValue = ["APPS", "TLS", "TLS_PRIVATEKEY", "APP_SERVERAPI", "APP_ROLLOUT", "APP_BUNDLEID"]

    @Test("Every row of the tables has its own key, and its variable overrides that key and no other")
    func variables() throws {
        #expect(Set(SettingsDocument.keys).count == SettingsDocument.keys.count)
        let folder = try Self.folder()
        func settings(_ variables: [String: String]) throws -> ProxyConfiguration {
            let app = ["RECEIPT_BRIDGE_APP_BUNDLEID": "com.example.one"]
            return try ConfigurationFile.parse(
                Self.document(isWhole: false), name: "", folder: folder.url,
                environment: variables.merging(app) { $1 }, checks: .server)
        }
        let old = try settings([:])
        var known: Set<String> = []
        for line in Self.lines where !line.key.hasPrefix("apps[].forward") {
            guard let second = line.second else { continue }
            let value = second.drop { $0 != ":" }.dropFirst(2).filter { !"[]".contains($0) }
            let file = folder.path(value)
            let name = line.key.replacing("apps[].", with: "app.").replacing("[]", with: "").replacing(".", with: "_")
            let variable = "RECEIPT_BRIDGE_\(name.uppercased())"
            let new = try settings([variable: FileManager.default.fileExists(atPath: file) ? file : value])
            let changes = ConfigurationDiff(from: old, to: new)
            expect(changes, line.key, "\(variable)")
            known.insert(variable.replacing(/_FILE$/, with: ""))
        }
        let withoutValue = Self.withoutValue.map { "RECEIPT_BRIDGE_\($0)" }
        #expect(Set(SettingsDocument.variables).subtracting(known).subtracting(withoutValue) == [])
    }

    /// Expects one changed key, which is this one, or has it inside.
    private func expect(_ changes: ConfigurationDiff, _ key: String, _ comment: Comment) {
        let names = changes.applied + changes.needRestart
        let isNamed = names.map(normalized).map { name in
            key == name || key.hasPrefix("\(name).") || key.hasPrefix("\(name)[].")
        }
        #expect(isNamed == [true], "\(comment): \(names)")
    }

    /// The key whose row documents this key. Values inside a secret, sandbox rules, comparison rules and forwarding
    /// targets have no row of their own.
    private func row(of key: String) -> String {
        let values = ["apps[].sandbox", "apps[].comparisonRules", "apps[].forward"]
        return values.first { key.hasPrefix($0) } ?? key.replacing(/(\[\])?\.file$/, with: "")
    }

    @Test("docs/CONFIGURATION.md has one row for each key, and no other rows")
    func rows() throws {
        let docs = Repository.folder.appending(path: "docs")
        let text = try String(contentsOf: docs.appending(path: "CONFIGURATION.md"), encoding: .utf8)
        let parents = ["apps", "tls", "apps[].serverAPI", "apps[].sandbox.testers", "apps[].rollout"]
        #expect(Set(SettingsDocument.keys).symmetricDifference(Self.leaves.map(row) + parents) == [])
        let forwarding = try String(contentsOf: docs.appending(path: "FORWARDING.md"), encoding: .utf8)
        for key in Self.leaves {
            if let match = key.firstMatch(of: /^apps\[\]\.forward\[\]\.(\w+)/) {
                #expect(forwarding.contains(try Regex("[ -] \(match.1): ")), "\(key)")
            }
        }
        #expect(text.contains("`{testers: [id, …]}`"))
    }

    // MARK: - Reload

    @Test("A reload reports every changed key, and those that need a restart are those of the table")
    func reload() throws {
        let folder = try Self.folder()
        func settings(changing line: Int? = nil, isWhole: Bool) throws -> ProxyConfiguration {
            try ConfigurationFile.parse(
                Self.document(changing: line, isWhole: isWhole), name: "", folder: folder.url, environment: [:],
                checks: .server)
        }
        let old = [true: try settings(isWhole: true), false: try settings(isWhole: false)]
        var needRestart: Set<String> = []
        for (index, line) in Self.lines.enumerated() where line.second != nil {
            let isWhole = TestSize.pick(debug: line.key == "mappings", release: true)
            let changes = ConfigurationDiff(
                from: try #require(old[isWhole]), to: try settings(changing: index, isWhole: isWhole))
            expect(changes, line.key, "\(line.key)")
            needRestart.formUnion(changes.needRestart)
        }
        #expect(
            needRestart == [
                "listen", "operations.listen", "store", "instance", "events", "database.password",
                "database.connections",
                "database.statementSeconds", "database.preparedStatements", "database.library", "upstream.proxy",
                "upstream.connections", "limits.connections",
            ])
        #expect(needRestart.union(["tls"]) == Set(SettingsDocument.keysThatNeedRestart))
    }
}
