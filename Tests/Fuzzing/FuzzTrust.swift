import Cryptography
import Foundation

/// Two unrelated trust stores: the roots of the seeds, and Apple's roots.
enum FuzzTrust {
    static let corpus = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Corpus")

    static let seeds = made {
        try TrustStore(
            anchors: TrustAnchors(
                roots: certificates("trust/roots"), intermediates: certificates("trust/intermediates")))
    }
    static let apple = made { try TrustStore(anchors: .apple()) }

    /// Returns the contents of all seeds of a target.
    static func contents(of folder: String) -> [[UInt8]] {
        made {
            try FileManager.default.contentsOfDirectory(
                at: corpus.appending(path: folder), includingPropertiesForKeys: nil
            ).map { [UInt8](try Data(contentsOf: $0)) }
        }
    }

    private static func certificates(_ folder: String) throws -> [Certificate] {
        try contents(of: folder).map { try Certificate(der: $0.span) }
    }

    /// Returns the result of `make` or terminates the process, because the fuzz targets cannot run without it.
    static func made<Value>(_ make: () throws -> Value) -> Value {
        do { return try make() } catch { fatalError("\(error)") }
    }
}
