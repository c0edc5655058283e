import Foundation
import Logging
import Pipeline
import Rendering
import Simulator

/// `answer.json` of each case in `Receipts/`: what the receipt alone answers to `request.json`, at the folder's own
/// instant.
///
/// The simulator cannot write them: it must not know how receipts are read.
struct SampleAnswers {
    let folder: URL
    private let pipeline: VerifyReceiptService

    init(_ path: String) throws {
        folder = URL(filePath: path)
        var settings = ProxyConfiguration()
        try settings.trust(certificatesIn: folder.appending(path: "roots"))
        try settings.trust(certificatesIn: folder.appending(path: "intermediates"))
        pipeline = try VerifyReceiptService(
            settings: settings, transport: nil, tables: .bundled, logger: .toStandardError(level: .error),
            now: { ReceiptsFolder.clock })
    }

    func write() async throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
            let folder = folder.appending(path: name)
            guard let request = try? Data(contentsOf: folder.appending(path: "request.json")) else { continue }
            let reply = await pipeline.answer(body: [UInt8](request), route: .auto, sources: [.receipt])
            try Data(reply.answer.body + [0x0A]).write(to: folder.appending(path: "answer.json"))
        }
    }
}
