import ReceiptBridgeCryptography
package import Foundation
package import ReceiptBridgeReceipts

/// A case in `Receipts/`: a receipt, the request with it, and the response.
package struct SampleReceipt: Sendable, CustomStringConvertible {
    package let folder: URL

    package var description: String { folder.lastPathComponent }

    package func bytes(of name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: folder.appending(path: name)))
    }
}

/// The cases in the folder `Receipts/` of the repository.
package enum SampleReceipts {
    package static let folder = Repository.folder.appending(path: "Receipts")

    /// All cases, sorted by name.
    package static let all: [SampleReceipt] = {
        let folders = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return (folders ?? []).filter { FileManager.default.fileExists(atPath: $0.appending(path: "receipt.b64").path) }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
            .map(SampleReceipt.init)
    }()

    package static func decoder() throws -> ReceiptDecoder {
        func certificates(_ name: String) throws -> [Certificate] {
            try FileManager.default.contentsOfDirectory(
                at: folder.appending(path: name), includingPropertiesForKeys: nil
            ).map { try Certificate(der: [UInt8](Data(contentsOf: $0)).span) }
        }
        let anchors = try TrustAnchors.apple().adding(
            roots: certificates("roots"), intermediates: certificates("intermediates"))
        return ReceiptDecoder(trust: try TrustStore(anchors: anchors), profile: .apple)
    }
}

/// A corpus of genuine receipts and responses, which is never in the repository. Tests skip it if it is absent.
package enum Corpus {
    /// The folder `../shared/corpus` next to the repository, or `nil` if there is none.
    package static let folder: URL? = {
        let folder = Repository.folder.deletingLastPathComponent().appending(path: "shared/corpus")
        return FileManager.default.fileExists(atPath: folder.path) ? folder : nil
    }()

    /// Returns the files of one folder of the corpus, sorted by name; none if there is no corpus.
    package static func files(in name: String) -> [URL] {
        guard let folder = folder?.appending(path: name) else { return [] }
        let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return (files ?? []).sorted { $0.lastPathComponent < $1.lastPathComponent }
    }
}

/// What an independent decoder says about a receipt of the corpus.
package struct GenuineReceipt: Decodable, Sendable, CustomStringConvertible {
    package let file, kind, environment, bundleId: String
    package let verified: Bool
    package let environmentConflict: Bool?
    package let transactions: Int
    package let transactionIds, originalTransactionIds: [String]

    package var description: String { file }

    package var bytes: [UInt8] {
        get throws {
            guard let corpus = Corpus.folder else { throw SharedSimulator.Missing(what: "the corpus") }
            let folder = kind == "appReceipt" ? "app-receipts" : "transaction-receipts"
            return [UInt8](try Data(contentsOf: corpus.appending(path: "\(folder)/\(file)")))
        }
    }

    /// None if there is no corpus.
    package static let all: [GenuineReceipt] = {
        let lines = Corpus.folder.flatMap { try? Data(contentsOf: $0.appending(path: "expected.jsonl")) } ?? Data()
        return lines.split(separator: 0x0A).compactMap { try? JSONDecoder().decode(GenuineReceipt.self, from: $0) }
    }()
}

/// The checkout that contains this file.
package enum Repository {
    package static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
}
