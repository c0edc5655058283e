import ReceiptBridgeCryptography
import Foundation

/// A fuzz target (T30): the code that runs for each input. Nothing that it calls may trap, hang or use unlimited
/// memory; further conditions are checked by ``require(_:_:)``.
struct FuzzTarget: Sendable {
    /// The name on the command line, and of the folder with the seeds.
    let name: String
    let body: @Sendable ([UInt8]) -> Void

    /// All targets: each parser of bytes from outside.
    static let all: [FuzzTarget] = [
        FuzzTarget(name: "receipt", body: ReceiptTargets.receipt),
        FuzzTarget(name: "attributes", body: ReceiptTargets.attributes),
        FuzzTarget(name: "purchaseInfo", body: ReceiptTargets.purchaseInfo),
        FuzzTarget(name: "base64", body: Base64Target.run),
        FuzzTarget(name: "gzip", body: GzipTarget.run),
        FuzzTarget(name: "certificate", body: CertificateTarget.run),
        FuzzTarget(name: "jws", body: SignedTextTargets.text),
        FuzzTarget(name: "claims", body: SignedTextTargets.claims),
        FuzzTarget(name: "answer", body: AnswerTarget.run),
        FuzzTarget(name: "document", body: DocumentTarget.run),
        FuzzTarget(name: "request", body: RequestTarget.run),
        FuzzTarget(name: "json", body: JSONTarget.run),
        FuzzTarget(name: "rows", body: RowsTarget.run),
    ]

    static let chosen = CommandLine.arguments.dropFirst().first.flatMap { name in all.first { $0.name == name } }
}

/// Terminates the process if a condition is false, so that libFuzzer keeps the input.
func require(_ holds: Bool, _ promise: @autoclosure () -> String) {
    if !holds { fatalError("violated condition: \(promise())") }
}

/// Two unrelated trust stores: the roots of the seeds, and Apple's roots.
enum FuzzTrust {
    /// The folder with the seeds of all targets.
    static let corpus = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Corpus")

    /// Trusts the roots that signed the seeds.
    static let seeds = made {
        try TrustStore(
            anchors: TrustAnchors(
                roots: certificates("trust/roots"), intermediates: certificates("trust/intermediates")))
    }
    /// Trusts Apple's roots only, so it must reject every input.
    static let apple = made { try TrustStore(anchors: .apple()) }

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
