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
        let proxy = try await stage.serve()
        try await stage.notify(proxy)
        stage.appStore.simulate(40, seed: 7)
        #expect(await stage.isQuiet())
        func count(_ file: String) throws -> Int? {
            try DatabaseQueue(path: file).read { try Int.fetchOne($0, sql: "SELECT count(*) FROM notification") }
        }
        let stored = try #require(try count(path))
        #expect(stored >= 40)
        await proxy.finish()
        let copy = stage.folder.path("copy.sqlite")
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        #expect(try count(copy) == stored)
        #expect(try stage.folder.permissions("bridge.sqlite") == 0o600)
        #expect(!proxy.errors.contains("can be read or changed by other users"), "\(proxy.errors)")
    }

    @Test("A secret file that others can read is reported once at the start, and its mode is not changed")
    func openSecret() async throws {
        let stage = try await CommandFixture(customers: 2)
        let secret = try stage.folder.write("token.txt", "Zm9ydHktdHdvIGJ5dGVz".utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o440], ofItemAtPath: secret)
        try stage.configure(before: "tokens: [{file: token.txt}]\n")
        let proxy = try await stage.serve()
        await proxy.finish()
        let warnings = proxy.errors.split(separator: "\n").filter {
            $0.contains("can be read or changed by other users")
        }
        #expect(
            warnings.count == 1 && warnings[0].contains("token.txt") && warnings[0].contains("the file's group"),
            "\(warnings)")
        #expect(try stage.folder.permissions("token.txt") == 0o440)
    }
}
