import Foundation

/// What the App Store's troubles may cost.
extension SettingsFile {
    static func readDeadline(_ root: SettingsNode, into settings: inout Settings) {
        guard let seconds = root.number("deadlineSeconds") else { return }
        settings.deadline = .seconds(seconds)
        if !(1...30).contains(seconds) { root.note("deadlineSeconds", "expected 1 to 30") }
    }

    /// `{days: 30, megabytes: 512}`
    static func readLastGood(_ root: SettingsNode, into settings: inout Settings) {
        guard let lastGood = root.child("lastGood") else { return }
        if let days = lastGood.number("days") {
            settings.lastGood.days = days
            if !(0...365).contains(days) { lastGood.note("days", "expected 0 to 365") }
        }
        if let megabytes = lastGood.number("megabytes") {
            if (1...1_000_000).contains(megabytes) {
                settings.lastGood.bytes = Int(megabytes) << 20
            } else {
                lastGood.note("megabytes", "expected 1 to 1000000")
            }
        }
        lastGood.finish()
    }
}
