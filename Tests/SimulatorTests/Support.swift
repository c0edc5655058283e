import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport

/// Keys and stores that several suites share, because making keys takes half a second.
enum Shared {
    static var pki: TestPKI { get throws { try SharedSimulator.pki } }
    /// A tree with Apple's names below another root.
    static var foreign: TestPKI { get throws { try SharedSimulator.foreign } }

    static let noon = Timestamp(seconds: 1_795_262_400)

    static let verdicts = Result { try store() }

    static func store(customers: Int = 36, seed: UInt64 = 7) throws -> SimulatedStore {
        try SimulatedStore(seed: seed, customers: customers, clock: .fixed(noon), pki: try pki)
    }
}

/// A temporary folder that is removed after the test.
final class Scratch {
    let path: String

    init() throws {
        path = TestProcess.folder.appendingPathComponent("sim-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    @discardableResult
    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
        return name
    }

    func writeCertificates(_ name: String, _ certificates: [[UInt8]]) throws -> String {
        let text = certificates.map {
            "-----BEGIN CERTIFICATE-----\n"
                + ReceiptEncodingVariant.lines(Base64.encode($0), width: 64, separator: "\n")
                + "\n-----END CERTIFICATE-----\n"
        }.joined()
        return try write(name, Array(text.utf8))
    }

    /// Returns what `openssl` says about a certificate. The form of names is given, because the default of OpenSSL 3.0
    /// is `CN = Name`, and that of 3.2 and later `CN=Name`.
    func text(ofCertificate file: String) throws -> String {
        let output = try openssl("x509", "-in", file, "-noout", "-text", "-nameopt", "RFC2253").output
        return String(decoding: output, as: UTF8.self)
    }

    func openssl(_ arguments: String...) throws -> (status: Int32, output: [UInt8], errors: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: path)
        let (output, errorFile) = (Pipe(), "\(path)/stderr-\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: errorFile, contents: nil)
        process.standardOutput = output
        process.standardError = FileHandle(forWritingAtPath: errorFile)
        try process.run()
        let bytes = [UInt8](output.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        let errors = String(decoding: FileManager.default.contents(atPath: errorFile) ?? Data(), as: UTF8.self)
        return (process.terminationStatus, bytes, errors)
    }
}
