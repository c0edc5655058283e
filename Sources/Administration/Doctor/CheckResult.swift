import ReceiptBridgeBase

/// The result of one check of the installation.
package struct CheckResult: Sendable, Hashable {
    /// The status of a check; the raw value is the member `ok` of the JSON.
    package enum CheckVerdict: String, Sendable {
        case pass, warn, fail
    }

    /// Name of the check, for example `serverAPI com.example.app sandbox`.
    package let check: String
    package let verdict: CheckVerdict
    /// The finding. It contains no secrets.
    package let detail: String
    package let advice: String?

    package init(_ check: String, _ verdict: CheckVerdict, _ detail: String, advice: String? = nil) {
        self.check = check
        self.verdict = verdict
        self.detail = detail
        self.advice = advice
    }
}

extension [CheckResult] {
    /// One line per result, with the advice below it. Example:
    ///
    ///     pass  openssl         verifies SHA-1 and RSA-1024, as old receipts need
    ///     warn  store           none: …
    ///                           → store: sqlite:receipt-bridge.sqlite
    ///
    /// - Parameter columns: The width at which texts continue on the next line, below their beginning; `nil` for one
    ///   line each. A name that is longer than a quarter of the width has a line of its own.
    package func table(columns: Int? = nil) -> String {
        let widest = columns.map { $0 / 4 } ?? .max
        let width = map(\.check.count).filter { $0 <= widest }.max() ?? 0
        let indent = String(repeating: " ", count: width + 8)
        func wrapped(_ text: String) -> String {
            guard let columns else { return text }
            return text.wrapped(at: Swift.max(columns - indent.count, 20)).joined(separator: "\n" + indent)
        }
        return map { result in
            let space =
                result.check.count > width
                ? "\n" + indent : String(repeating: " ", count: width - result.check.count) + "  "
            let line = "\(result.verdict.rawValue)  \(result.check)\(space)\(wrapped(result.detail))\n"
            return line + (result.advice.map { indent + wrapped("→ \($0)") + "\n" } ?? "")
        }.joined()
    }

    /// The number of results of each kind, for example `12 checks passed, 1 warning`.
    package var summary: String {
        func number(_ verdict: CheckResult.CheckVerdict) -> Int { count { $0.verdict == verdict } }
        let (passed, warnings, failed) = (number(.pass), number(.warn), number(.fail))
        return "\(passed) \(passed == 1 ? "check" : "checks") passed"
            + (warnings > 0 ? ", \(warnings) \(warnings == 1 ? "warning" : "warnings")" : "")
            + (failed > 0 ? ", \(failed) failed" : "")
    }

    /// The results as JSON: `[{check, ok, detail, advice}]`.
    package var json: [UInt8] {
        JSONWriter.array(self) { writer, result in
            writer.member("check", result.check)
            writer.member("ok", result.verdict.rawValue)
            writer.member("detail", result.detail)
            writer.member("advice", result.advice)
        }
    }
}

extension String {
    /// The text in lines of at most `columns` characters, broken at spaces. A longer word stays whole.
    fileprivate func wrapped(at columns: Int) -> [String] {
        split(separator: " ").reduce(into: []) { lines, word in
            if let last = lines.last, last.count + 1 + word.count <= columns {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append(String(word))
            }
        }
    }
}
