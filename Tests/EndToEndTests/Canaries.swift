import Foundation
import ReceiptBridgeSimulator
import Synchronization
import Testing
import ReceiptBridgeTestSupport

/// Values that must not appear in outputs, and a record of the outputs that were searched.
///
/// Secrets must not appear anywhere. Contents (receipts and JWS) may appear only where a command or request
/// asks for them. Values inside them (account tokens) may also appear where responses are compared.
final class Canaries: Sendable {
    private let secrets: [String: String]
    private let contents: [String: String]
    private let values: [String: String]
    private let searched = Mutex<[String]>([])
    /// Command lines and environments of processes that were searched; the same ones occur repeatedly.
    private let seen = Mutex<Set<Data>>([])

    /// - Parameters:
    ///     - secrets: secrets by their names; each is also searched in base64.
    ///     - contents: receipts and JWS by their names.
    ///     - values: account tokens by their names.
    init(secrets: [String: String], contents: [String: String], values: [String: String]) {
        var forms = secrets
        for (name, secret) in secrets {
            // The part of the base64 text that depends on the secret alone.
            forms["\(name), in base64"] = String(Base64.encode(Array(secret.utf8)).dropLast(4).prefix(40))
        }
        self.secrets = forms
        self.contents = contents
        self.values = values
    }

    /// The contents that an output may have, because the request or command asked for them.
    enum Allowed: Sendable {
        case nothing
        /// Account tokens, where responses are compared.
        case values
        /// Receipts and JWS too.
        case contents
    }

    func search(_ bytes: [UInt8], of output: String, allowing allowed: Allowed = .nothing) {
        search(String(decoding: bytes, as: UTF8.self), of: output, allowing: allowed)
    }

    func search(_ text: String, of output: String, allowing allowed: Allowed = .nothing) {
        searched.withLock { $0.append(output) }
        var forms = secrets
        if allowed != .contents { forms.merge(contents) { $1 } }
        if allowed == .nothing { forms.merge(values) { $1 } }
        for (name, form) in forms {
            let isFound = text.utf8.count >= form.utf8.count && text.contains(form)
            #expect(!isFound, "\(name) appears in \(output)")
        }
    }

    /// Returns the number of searched outputs whose names have this prefix.
    func count(_ output: String) -> Int { searched.withLock { $0.count { $0.hasPrefix(output) } } }

    #if os(Linux)
        /// Searches everything that other users of the machine can read about a process and its children.
        func search(process identifier: Int32) {
            for process in [identifier] + Self.children(of: identifier) {
                for name in ["cmdline", "environ"] {
                    let bytes = FileManager.default.contents(atPath: "/proc/\(process)/\(name)") ?? Data()
                    let isNew = seen.withLock { $0.insert(bytes).inserted }
                    if isNew, !bytes.isEmpty { search([UInt8](bytes), of: "/proc/\(name)") }
                }
            }
        }

        private static func children(of parent: Int32) -> [Int32] {
            let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            // Of the other processes, only younger ones, because there can be hundreds.
            return entries.compactMap { Int32($0) }.filter { $0 > parent }.filter { process in
                guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
                    let fields = stat.split(separator: ")").last?.split(separator: " ")
                else { return false }
                return fields.count > 1 && Int32(fields[1]) == parent
            }
        }
    #endif
}
