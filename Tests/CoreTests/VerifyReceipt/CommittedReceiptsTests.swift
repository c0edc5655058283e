import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import Logging
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// The samples in `Receipts/` document the response to each kind of receipt. If a response changes, the change shows
/// there.
@Suite("Receipts in the repository")
struct CommittedReceiptsTests {
    private static let forged: [String: ReceiptDecodingError.Code] = [
        "tampered": .badSignature, "foreign-root": .untrustedChain,
    ]

    /// A service at a fixed time that trusts the roots of the folder, as `--roots Receipts/roots` does.
    private func service(now: Timestamp = ReceiptsFolder.clock) throws -> VerifyReceiptService {
        var settings = ProxyConfiguration()
        try settings.trust(certificatesIn: SampleReceipts.folder.appending(path: "roots"))
        try settings.trust(certificatesIn: SampleReceipts.folder.appending(path: "intermediates"))
        return try VerifyReceiptService(
            settings: settings, transport: nil, tables: .bundled, logger: Logger(label: "test"), now: { now })
    }

    // Writes files and checks nothing, so it runs only for `make receipts`. The simulator cannot write our responses,
    // because it must not depend on the receipt decoder.
    @Test(
        "The samples are written with new keys",
        .enabled(
            if: ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_RECEIPTS"] != nil,
            "writes Receipts/: make receipts"))
    func write() async throws {
        try ReceiptsFolder(SampleReceipts.folder).write()
        for sample in SampleReceipts.all {
            let request = try sample.bytes(of: "request.json")
            let reply = try await service().answer(body: request, route: .auto, sources: [.receipt])
            try Data(reply.answer.body + [0x0A]).write(to: sample.folder.appending(path: "answer.json"))
        }
    }

    @Test("Every sample has all of its files")
    func complete() throws {
        #expect(SampleReceipts.all.count == 12)
        for sample in SampleReceipts.all {
            let names = try FileManager.default.contentsOfDirectory(atPath: sample.folder.path).sorted()
            #expect(names == ["ABOUT.md", "answer.json", "receipt.b64", "request.json", "upstream"], "\(sample)")
            let request = try JSONValue(reading: sample.bytes(of: "request.json"))
            let text = try #require(request["receipt-data"]?.text)
            #expect(try Array(text.utf8) + [0x0A] == sample.bytes(of: "receipt.b64"), "\(sample)")
        }
    }

    @Test("Every receipt is authentic, except the forged ones", arguments: SampleReceipts.all)
    func authentic(sample: SampleReceipt) throws {
        let text = try sample.bytes(of: "receipt.b64").dropLast()
        let inspection = try SampleReceipts.decoder().inspect(Array(text).span)
        #expect(inspection.failure?.code == Self.forged[sample.description])
        #expect(inspection.contents?.bundleId == SimulatedApp.first.bundleId)
    }

    @Test("The response equals answer.json byte for byte at the time of the samples", arguments: SampleReceipts.all)
    func answer(sample: SampleReceipt) async throws {
        let request = try sample.bytes(of: "request.json")
        let reply = try await service().answer(body: request, route: .auto, sources: [.receipt])
        #expect(try reply.answer.body + [0x0A] == sample.bytes(of: "answer.json"))
    }

    @Test("The response one second later differs in request_date only", arguments: SampleReceipts.all)
    func answerLater(sample: SampleReceipt) async throws {
        let request = try sample.bytes(of: "request.json")
        let later = Timestamp(milliseconds: ReceiptsFolder.clock.milliseconds + 1000)
        let reply = try await service(now: later).answer(body: request, route: .auto, sources: [.receipt])
        let requestDate = /"request_date(_ms|_pst)?":"[^"]*"/
        let ours = String(decoding: reply.answer.body, as: UTF8.self).replacing(requestDate, with: "")
        let expected = String(decoding: try sample.bytes(of: "answer.json").dropLast(), as: UTF8.self)
        #expect(ours == expected.replacing(requestDate, with: ""))
    }

    @Test("Status and receipt object equal those of the simulated App Store", arguments: SampleReceipts.all)
    func agreesWithUpstream(sample: SampleReceipt) throws {
        let ours = try JSONValue(reading: sample.bytes(of: "answer.json"))
        let theirs = try JSONValue(reading: sample.bytes(of: "upstream/verifyReceipt.json"))
        #expect(ours["status"] == theirs["status"])
        #expect(ours["receipt"] == theirs["receipt"])
    }
}

@Suite("Trusted certificates")
struct TrustedCertificatesTests {
    @Test("Self-issued certificates are trusted as roots, all others as intermediates only")
    func sorted() throws {
        let folder = TestProcess.folder.appending(path: "trust-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var expected: [String: [[UInt8]]] = [:]
        for name in ["roots", "intermediates"] {
            expected[name] = try CertificateLoader.read(SampleReceipts.folder.appending(path: name))
            for (index, certificate) in (expected[name] ?? []).enumerated() {
                try Data(certificate).write(to: folder.appending(path: "\(name)-\(index).cer"))
            }
        }
        var settings = ProxyConfiguration()
        try settings.trust(certificatesIn: folder)
        #expect(settings.trustedRoots.count == 4)
        #expect(settings.trustedRoots == expected["roots"])
        #expect(settings.intermediates == expected["intermediates"])
    }
}
