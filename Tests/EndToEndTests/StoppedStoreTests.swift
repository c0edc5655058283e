import Foundation
import GRDB
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Files of a stopped server")
struct StoppedStoreTests {
    // T24
    @Test("The store is one file after SIGTERM, a copy of it has every notification, and only its owner can read it")
    func oneFile() async throws {
        let stage = try await CommandFixture(customers: 8)
        let path = stage.folder.path("bridge.sqlite")
        // Created by an earlier version or restored from a backup, with mode 0644.
        try DatabaseQueue(path: path).close()
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        let proxy = try stage.start("serve", "--listen", "127.0.0.1:0")
        let address = "http://127.0.0.1:\(try await proxy.port())/v1/notifications"
        try await stage.ask("POST", "/notifications/targets", .object(["url": .string(address)]))
        try await stage.ask("POST", "/events", .object(["count": .number(40), "seed": .number(7)]))
        #expect(
            await eventually(within: .seconds(60)) {
                (try? await stage.ask("GET", "/notifications/deliveries"))?["waiting"]?.integer == 0
            })
        func count(_ file: String) throws -> Int? {
            try DatabaseQueue(path: file).read { try Int.fetchOne($0, sql: "SELECT count(*) FROM notification") }
        }
        let stored = try #require(try count(path))
        #expect(stored >= 40)
        proxy.stop()
        #expect(await proxy.end() == 0)
        let copy = stage.folder.path("copy.sqlite")
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        #expect(try count(copy) == stored)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(!proxy.errors.contains("can be read or changed by other users"), "\(proxy.errors)")
        await stage.stop()
    }

    @Test("A secret file that others can read is reported once at the start, and its mode is not changed")
    func openSecret() async throws {
        let stage = try await CommandFixture(customers: 2)
        let secret = try stage.folder.write("token.txt", "Zm9ydHktdHdvIGJ5dGVz".utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o440], ofItemAtPath: secret)
        try stage.folder.write("receipt-bridge.yaml", "tokens: [{file: token.txt}]\n\(try stage.configuration())".utf8)
        let proxy = try stage.start("serve", "--listen", "127.0.0.1:0")
        _ = try await proxy.port()
        proxy.stop()
        #expect(await proxy.end() == 0)
        let warnings = proxy.errors.split(separator: "\n").filter {
            $0.contains("can be read or changed by other users")
        }
        #expect(
            warnings.count == 1 && warnings[0].contains("token.txt") && warnings[0].contains("the file's group"),
            "\(warnings)")
        let mode = try FileManager.default.attributesOfItem(atPath: secret)[.posixPermissions] as? Int
        #expect(mode == 0o440)
        await stage.stop()
    }
}
