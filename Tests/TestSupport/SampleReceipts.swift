import Cryptography
package import Foundation
package import ReceiptDecoding

/// A folder of `Receipts/`: a receipt, what is asked about it, and what is answered.
package struct SampleReceipt: Sendable, CustomStringConvertible {
    package let folder: URL

    package var description: String { folder.lastPathComponent }

    /// One of its files.
    package func bytes(of name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: folder.appending(path: name)))
    }
}

/// `Receipts/`, as it is in the repository.
package enum SampleReceipts {
    package static let folder = Repository.folder.appending(path: "Receipts")

    /// Every case, sorted by name.
    package static let all: [SampleReceipt] = {
        let folders = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return (folders ?? []).filter { FileManager.default.fileExists(atPath: $0.appending(path: "receipt.b64").path) }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
            .map(SampleReceipt.init)
    }()

    /// A decoder that trusts the folder's own roots.
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
