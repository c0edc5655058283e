import Foundation

/// Keys for the time when the App Store is slow or unavailable: the request deadline and the archive of Apple's last
/// good responses.
extension ConfigurationFile {
    /// Reads `deadlineSeconds`.
    static func readDeadline(_ root: ConfigurationNode, into settings: inout ProxyConfiguration) {
        if let seconds = root.integer("deadlineSeconds", in: 1...30) { settings.deadline = .seconds(seconds) }
    }

    /// Reads `lastGood: {days: 30, megabytes: 512}`.
    static func readLastGood(_ root: ConfigurationNode, into settings: inout ProxyConfiguration) {
        guard let lastGood = root.child("lastGood") else { return }
        if let days = lastGood.integer("days", in: 0...365) { settings.lastGood.days = days }
        if let megabytes = lastGood.integer("megabytes", in: 1...1_000_000) {
            settings.lastGood.bytes = Int(megabytes) << 20
        }
        lastGood.finish()
    }
}
