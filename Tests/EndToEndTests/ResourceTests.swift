import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// T13: receipts that are expensive to read. `decode` reads all of them completely, because it prints what is not
/// authentic too.
@Suite("Expensive receipts")
struct ResourceTests {
    private typealias Attribute = ReceiptBridgeSimulator.ReceiptAttribute

    private static func repeated(_ piece: [UInt8], _ count: Int) -> [UInt8] {
        [UInt8](Array(repeating: piece, count: count).joined())
    }

    private static func receipt(_ rest: [UInt8]) throws -> [UInt8] {
        try MintedReceipts.app(
            payload: DEREncoder.value(tag: 0x31, parts: MintedReceipts.essentials.map(\.der) + [rest]))
    }

    /// A number of elements for release, where the limits must hold. In debug a quarter is read: enough to see a cost
    /// that grows faster than the receipt.
    private static func size(_ count: Int) -> Int { TestSize.pick(debug: count / 4, release: count) }

    static let costly: [(what: String, make: @Sendable () throws -> [UInt8])] = [
        (
            "a hundred thousand attributes",
            { try receipt(repeated(Attribute.text(2, "com.example.app").der, size(100_000))) }
        ),
        ("a hundred thousand empty attributes", { try receipt(repeated(Attribute(99, raw: []).der, size(100_000))) }),
        (
            "two million bytes of object identifiers",
            { try receipt(Attribute(98, raw: repeated([6, 1], size(1_000_000))).der) }
        ),
        (
            "5,000 purchases",
            { try receipt(repeated(Attribute(17, raw: MintedReceipts.content().purchases[0].der).der, size(5_000))) }
        ),
        ("a million levels", { repeated([0x30, 0x80], size(1_000_000)) }),
        (
            "a million levels of definite length",
            {
                // The length of each level covers everything after it.
                repeated([0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xFF], size(500_000))
            }
        ),
        ("a tag of a million bytes", { [0x30, 0x84, 0, 0x0F, 0x42, 0x41, 0x1F] + repeated([0xFF], 1_000_000) }),
        (
            "a list of a hundred thousand entries",
            {
                Array("{".utf8) + (0..<size(100_000)).flatMap { Array("\"k\($0)\" = \"v\";".utf8) } + Array("}".utf8)
            }
        ),
    ]

    // T11, T13
    @Test("An expensive receipt is read completely within 20 s of one core and 400 MB", arguments: costly.indices)
    func budget(index: Int) async throws {
        let (what, make) = Self.costly[index]
        let folder = try TemporaryFolder()
        try folder.write("receipt.b64", MintedReceipts.base64(make()))
        let running = try Running(["decode", "receipt.b64"], in: folder)
        var (seconds, megabytes) = (0.0, 0)
        while running.isRunning {
            if let usage = Usage(of: running.identifier) {
                (seconds, megabytes) = (max(seconds, usage.seconds), max(megabytes, usage.megabytes))
            }
            if seconds > 60 { running.kill() }
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(await running.end() == 1, "\(what): \(running.errors)")
        let line = try JSONValue(reading: running.output.split(separator: 0x0A).first.map(Array.init) ?? [])
        #expect(line["verified"] == .bool(false), "\(what)")
        // A quarter in debug, too. Within 20 s, a cost that grows with the square of the size would not be seen there.
        #expect(seconds < TestSize.pick(debug: 5, release: 20), "\(what)")
        #expect(megabytes < 400 || Usage.isSanitized, "\(what)")
    }
}
