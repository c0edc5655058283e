import Foundation
import Simulator
import Synchronization
import TestSupport
import Testing

/// Values that must not appear, and what was searched for them.
///
/// Secrets may stand nowhere. Contents, receipts and signed texts, may stand where somebody asked for them and nowhere
/// else; values in them, account tokens, also where answers are compared.
final class Canaries: Sendable {
    private let secrets: [String: String]
    private let contents: [String: String]
    private let values: [String: String]
    private let searched = Mutex<[String]>([])
    /// What processes showed: the same again and again.
    private let seen = Mutex<Set<Data>>([])
    private let verdicts = Mutex<[String: Verdict]>([:])

    /// Of one value: the texts that it may not stand in, and those that it stood in.
    private struct Verdict {
        var searched = 0
        var found: [String] = []
    }

    /// - Parameters:
    ///   - secrets: by what they are; each is also looked for in base64.
    ///   - contents: by what they are.
    ///   - values: by what they are.
    init(secrets: [String: String], contents: [String: String], values: [String: String]) {
        var forms = secrets
        for (name, secret) in secrets {
            // In base64 whatever stands in front: the third that does not change.
            forms["\(name), in base64"] = String(Base64.encode(Array(secret.utf8)).dropLast(4).prefix(40))
        }
        self.secrets = forms
        self.contents = contents
        self.values = values
    }

    /// What somebody asked for.
    enum Allowed: Sendable {
        case nothing
        /// Account tokens and the like, where answers are compared.
        case values
        /// Receipts and signed texts too.
        case contents
    }

    func search(_ bytes: [UInt8], of place: String, allowing allowed: Allowed = .nothing) {
        search(String(decoding: bytes, as: UTF8.self), of: place, allowing: allowed)
    }

    func search(_ text: String, of place: String, allowing allowed: Allowed = .nothing) {
        searched.withLock { $0.append(place) }
        var forms = secrets
        if allowed != .contents { forms.merge(contents) { $1 } }
        if allowed == .nothing { forms.merge(values) { $1 } }
        for (name, form) in forms {
            let isFound = text.utf8.count >= form.utf8.count && text.contains(form)
            verdicts.withLock { verdicts in
                verdicts[name, default: Verdict()].searched += 1
                if isFound { verdicts[name, default: Verdict()].found.append(place) }
            }
            #expect(!isFound, "\(name) stands in \(place)")
        }
    }

    /// A line for each value, for the log of the tests.
    func tell(_ title: String) {
        for (name, verdict) in verdicts.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            let places = Set(verdict.found).sorted().joined(separator: ", ")
            let found = verdict.found.isEmpty ? "not found" : "FOUND in \(places)"
            print("canary, \(title): \(name): searched in \(verdict.searched) outputs, \(found)")
        }
    }

    /// How many texts were searched, of places that begin so.
    func count(_ place: String) -> Int { searched.withLock { $0.count { $0.hasPrefix(place) } } }

    #if os(Linux)
        /// What anybody on the machine sees of a process and its children.
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
            return entries.compactMap { Int32($0) }.filter { process in
                guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
                    let fields = stat.split(separator: ")").last?.split(separator: " ")
                else { return false }
                return fields.count > 1 && Int32(fields[1]) == parent
            }
        }
    #endif
}
