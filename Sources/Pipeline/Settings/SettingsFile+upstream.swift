import Foundation

/// What the App Store's troubles may cost.
extension SettingsFile {
    static func readDeadline(_ root: SettingsNode, into settings: inout Settings) {
        guard let seconds = root.number("deadlineSeconds") else { return }
        settings.deadline = .seconds(seconds)
        if !(1...30).contains(seconds) { root.note("deadlineSeconds", "expected 1 to 30") }
    }
}
