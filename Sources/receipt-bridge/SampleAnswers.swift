import Foundation
import Logging
import Pipeline
import Rendering
import Simulator

/// Writes `answer.json` of each case in `Receipts/`: the response to `request.json` from the receipt alone, at the
/// folder's fixed time.
///
/// The simulator cannot write these files, because it must not depend on the receipt decoder.
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
