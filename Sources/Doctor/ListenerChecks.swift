import Pipeline
import Server

/// Checks whether the addresses of the listeners are free.
struct ListenerChecks {
    let settings: ProxyConfiguration

    func all() -> [CheckResult] {
        [
            checkup("listen", settings.listen, isNeeded: true),
            checkup(
                "operations.listen", settings.operationsListen, isNeeded: settings.operationsListenIsExplicit),
        ]
    }

    private func checkup(_ key: String, _ address: ProxyConfiguration.Address, isNeeded: Bool) -> CheckResult {
        switch PortProbe.bind(address) {
        case .free: return CheckResult(key, .pass, "\(address) is free")
        case .taken:
            return CheckResult(
                key, .warn, "\(address) is already in use",
                advice: isNeeded
                    ? "by receipt-bridge itself all is well; else stop the other program, or choose another port"
                    : "by receipt-bridge itself all is well; else nothing listens for operations")
        case .unusable(let reason):
            return CheckResult(
                key, .fail, "\(address): \(reason)", advice: "an address of this machine, and a port it may use")
        }
    }
}
