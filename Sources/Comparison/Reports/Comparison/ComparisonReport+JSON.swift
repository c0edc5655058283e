import ReceiptBridgeStorage
import ReceiptBridgeBase

extension ComparisonReport {
    /// The report as a JSON object for programs. Its keys are stable; keys may be added. Dates are milliseconds.
    /// Shares are fractions from 0 to 1, or `null` if nothing was compared.
    package var json: [UInt8] {
        JSONWriter.object(reserving: 4_096) { writer in
            writer.member("kind", kind.rawValue)
            writer.member("title", title)
            writer.member("madeAt", madeAt.milliseconds)
            writer.objects("apps", [Readiness](self)) { $1.write(into: &$0) }
            if kind == .shadow { writer.objects("rollouts", rollouts) { $1.write(into: &$0) } }
            writer.objects("rules", rules) { $1.write(into: &$0) }
            writer.objects("differences", entries) { $1.write(into: &$0) }
            writer.object("historyVersions") { writer in
                for (version, count) in historyVersions.sorted(by: { $0.key < $1.key }) {
                    writer.member("\(version)", count)
                }
            }
            writer.member("unverified", unverified)
            writer.member("notes", notes)
        }
    }
}

extension Readiness {
    fileprivate func write(into writer: inout JSONWriter) {
        writer.member("bundleId", app.scope.bundleId)
        writer.member("environment", app.scope.environment)
        writer.member("compared", app.compared)
        writer.member("equal", app.equal)
        writer.member("customers", app.customers)
        writer.member("partial", app.partial)
        writer.member("recordsOnly", app.recordsOnly ?? 0)
        writer.member("noticeable", noticeable.reduce(0) { $0 + $1.count })
        writer.member("share", fraction: share)
        writer.member("upperBound", fraction: upperBound)
        writer.member("verdict", verdict.rawValue)
        writer.member("decides", decides)
        writer.member("sentence", sentence)
        writer.member("failures", app.failures)
    }
}

extension RolloutReport {
    fileprivate func write(into writer: inout JSONWriter) {
        writer.member("bundleId", bundleId)
        writer.member("source", source)
        writer.member("state", phase.rawValue)
        writer.member("share", fraction: share / 100)
        writer.member("percent", number: percent)
        writer.member("stopAt", number: stopAt)
        writer.member("customers", compared)
        writer.member("different", different)
        writer.member("startedAt", startedAt?.milliseconds)
        writer.member("stoppedAt", stoppedAt?.milliseconds)
        writer.member("sentence", sentence)
    }
}

extension ComparisonReport.RuleGroup {
    fileprivate func write(into writer: inout JSONWriter) {
        writer.member("class", verdict.rawValue)
        writer.member("rule", rule)
        writer.member("noticeable", isNoticeable)
        writer.member("count", count)
        writer.objects("apps", apps) { writer, app in
            writer.member("bundleId", app.scope.bundleId)
            writer.member("environment", app.scope.environment)
            writer.member("count", app.count)
        }
    }
}

extension ComparisonReport.Entry {
    fileprivate func write(into writer: inout JSONWriter) {
        writer.member("bundleId", scope.bundleId)
        writer.member("environment", scope.environment)
        writer.member("class", verdict.rawValue)
        writer.member("rule", rule)
        writer.member("path", path)
        writer.member("count", count)
        writer.member("firstSeen", firstSeen?.milliseconds)
        writer.member("lastSeen", lastSeen?.milliseconds)
        writer.objects("examples", examples) { $1.write(into: &$0) }
    }
}

extension JSONWriter {
    /// Writes a fraction rounded to six decimal places.
    fileprivate mutating func member(_ key: String, fraction: Double?) {
        self.key(key)
        guard let fraction else { return null() }
        values(json: Array("\((fraction * 1e6).rounded() / 1e6)".utf8))
    }

    fileprivate mutating func member(_ key: String, number: Double) {
        self.key(key)
        values(json: Array("\(number)".utf8))
    }
}
