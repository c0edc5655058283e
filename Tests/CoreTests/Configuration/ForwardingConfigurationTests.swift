import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("Forwarding configuration")
struct ForwardingConfigurationTests {
    private static let key = "serverAPI: {issuerId: i, keyId: k, privateKey: {env: KEY}}"

    private func settings(_ forward: String, before: String = "", app: String = Self.key) throws -> ProxyConfiguration {
        try ConfigurationFile.parse(
            "\(before)\napps:\n  - bundleId: com.example.app\n    \(app)\n    forward: \(forward)\n",
            name: "bridge.yaml",
            folder: URL(filePath: "/nowhere"), environment: ["KEY": "k", "SECRET": "s", "PASSWORD": "p"],
            checks: .server)
    }

    private func finding(_ forward: String, before: String = "", app: String = Self.key) throws -> String {
        do {
            _ = try settings(forward, before: before, app: app)
            return ""
        } catch let error as ConfigurationError {
            #expect(error.findings.count == 1, "\(error.findings)")
            return error.findings.joined(separator: "\n")
        }
    }

    @Test("The key `forward` configures targets with their form and secrets")
    func targets() throws {
        let app = try #require(
            settings(
                """
                [{url: "https://a.example/x?y=1", as: raw, secret: {env: SECRET}}, {url: "http://127.0.0.1:1/", as: camel},
                 {url: "https://a.example/x?y=1", as: v1, password: {env: PASSWORD}, v1Profile: "2020",
                  concurrency: 200}]
                """
            ).apps.first)
        #expect(app.forward.map(\.form) == [.raw, .camel, .v1])
        #expect(app.forward.map(\.secret) == [Redacted("s"), nil, nil])
        #expect(app.forward[2].password == SharedSecret("p") && app.forward[2].profile == .year2020)
        #expect(app.forward[0].profile == .current && app.forward[0].url.text == "https://a.example/x?y=1")
        #expect(app.forward.map(\.concurrency) == [64, 64, 200])
        #expect(app.targetKeys.map(\.form) == ["raw", "camel", "v1"])
        #expect(try settings("[]").apps.first?.forward.isEmpty == true)
    }

    @Test(
        "A mistake in a target is reported with its key",
        arguments: [
            "[{as: raw}]": "apps[0].forward[0].url: missing",
            "[{url: \"https://a.example\"}]": "apps[0].forward[0].as: expected raw, camel or v1",
            "[{url: \"https://a.example\", as: xml}]": "apps[0].forward[0].as: xml is not one of raw, camel, v1",
            "[{url: \"http://a.example\", as: raw}]": "apps[0].forward[0].url: plain http",
            "[{url: \"ftp://a.example\", as: raw}]": "apps[0].forward[0].url: ",
            "[{url: \"https://u:p@a.example\", as: raw}]": "apps[0].forward[0].url: ",
            "[{url: \"https://a.example\", as: raw, to: x}]": "apps[0].forward[0].to: unknown key",
            "[{url: \"https://a.example\", as: raw, secret: {env: NO}}]": "apps[0].forward[0].secret: ",
            "[{url: \"https://a.example\", as: raw, secret: x}]":
                "apps[0].forward[0].secret: expected {file: path} or {env: NAME}",
            "[{url: \"https://a.example\", as: v1, password: {env: NO}}]": "apps[0].forward[0].password: ",
            "[{url: [x], as: raw}]": "apps[0].forward[0].url: expected a URL",
            "[x]": "apps[0].forward[0]: expected keys and values",
            "[{url: \"https://a.example\", as: raw, password: {env: PASSWORD}}]":
                "apps[0].forward[0].password: needs as: v1",
            "[{url: \"https://a.example\", as: camel, v1Profile: current}]":
                "apps[0].forward[0].v1Profile: needs as: v1",
            "[{url: \"https://a.example\", as: raw, latestReceipt: absent}]":
                "apps[0].forward[0].latestReceipt: needs as: v1",
            "[{url: \"https://a.example\", as: v1, password: {env: PASSWORD}, latestReceipt: handle}]":
                "apps[0].forward[0].latestReceipt: handle is not one of transaction, absent",
            "[{url: \"https://a.example\", as: camel, numbers: true}]": "apps[0].forward[0].numbers: needs as: v1",
            "[{url: \"https://a.example\", as: v1, password: {env: PASSWORD}, numbers: 1}]":
                "apps[0].forward[0].numbers: 1 is not one of true, false",
            "[{url: \"https://a.example\", as: raw, concurrency: 0}]":
                "apps[0].forward[0].concurrency: 0 is not in the range 1 to 512",
            "[{url: \"https://a.example\", as: v1}]": "apps[0].forward: v1 needs a password",
            "{url: \"https://a.example\", as: raw}": "apps[0].forward: expected a list",
            "[{url: \"https://a.example\", as: raw}, {url: \"https://a.example\", as: raw}]":
                "apps[0].forward[1]: duplicate target: same url and form",
        ])
    func refused(forward: String, expected: String) throws {
        let finding = try finding(forward)
        #expect(finding.hasPrefix("bridge.yaml: \(expected)"), "\(finding)")
    }

    @Test("The key of handles of 0.1.0 is named with what to do")
    func handleKeys() throws {
        #expect(
            try finding("[]", before: "handleKeys: [{env: SECRET}]").hasSuffix(
                "handleKeys: remove this key: handles of version 0.1.0 are not accepted, and `latest_receipt` is a signed transaction"
            ))
    }

    @Test("Forwarding needs a store, and version 1 also the Server API and a password")
    func needs() throws {
        let raw = "[{url: \"https://a.example\", as: raw}]"
        #expect(try finding(raw, before: "store: none").hasSuffix("apps[0].forward: needs a store"))
        let first = "[{url: \"https://a.example\", as: v1}]"
        #expect(try finding(first, app: "sharedSecret: {env: SECRET}").contains("v1 needs serverAPI"))
        #expect(try finding(first, before: "sharedSecret: {env: SECRET}").isEmpty)
        let many = (0..<9).map { "{url: \"https://a.example/\($0)\", as: raw}" }.joined(separator: ", ")
        #expect(try finding("[\(many)]").hasSuffix("apps[0].forward: has more than 8 targets"))
    }
}
