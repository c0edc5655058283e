import Cryptography
import Foundation

/// Two sets of roots that have nothing to do with one another: that of the seeds, and Apple's.
enum FuzzTrust {
    static let corpus = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Corpus")

    static let seeds = made {
        try TrustStore(
            anchors: TrustAnchors(
                roots: certificates("trust/roots"), intermediates: certificates("trust/intermediates")))
    }
    static let apple = made { try TrustStore(anchors: .apple()) }

    /// What the seeds of a target are.
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

    /// Without these there is nothing to fuzz.
    static func made<Value>(_ make: () throws -> Value) -> Value {
        do { return try make() } catch { fatalError("\(error)") }
    }
}
