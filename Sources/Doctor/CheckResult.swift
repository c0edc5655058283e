import Rendering

/// What was found of one thing that an installation needs.
package struct CheckResult: Sendable, Hashable {
    package enum Verdict: String, Sendable {
        case pass, warn, fail
    }

    /// What was looked at, as `serverAPI com.example.app sandbox`.
    package let check: String
    package let verdict: Verdict
    /// What is the case; no secret.
    package let detail: String
    /// What to do about it; nil where there is nothing to do.
    package let advice: String?

    package init(_ check: String, _ verdict: Verdict, _ detail: String, advice: String? = nil) {
        self.check = check
        self.verdict = verdict
        self.detail = detail
        self.advice = advice
    }
}

extension [CheckResult] {
    /// A line each, and what to do about it below.
    package var table: String {
        let width = map(\.check.count).max() ?? 0
        return map { checkup in
            let name = checkup.check + String(repeating: " ", count: width - checkup.check.count)
            let line = "\(checkup.verdict.rawValue)  \(name)  \(checkup.detail)\n"
            return line + (checkup.advice.map { String(repeating: " ", count: width + 8) + "→ \($0)\n" } ?? "")
        }.joined()
    }

    /// `[{check, ok, detail, advice}]`
    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginArray()
        for checkup in self {
            writer.beginObject()
            writer.key("check")
            writer.value(checkup.check)
            writer.key("ok")
            writer.value(checkup.verdict.rawValue)
            writer.key("detail")
            writer.value(checkup.detail)
            writer.key("advice")
            if let advice = checkup.advice { writer.value(advice) } else { writer.null() }
            writer.endObject()
        }
        writer.endArray()
        return writer.finish()
    }
}
