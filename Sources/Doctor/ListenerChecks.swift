import Pipeline
import Server

/// Checks whether the addresses of the listeners are free.
struct ListenerChecks {
    let settings: ProxyConfiguration

    func all() -> [CheckResult] {
        [
            check("listen", settings.listen, isNeeded: true),
            check(
                "operations.listen", settings.operationsListen, isNeeded: settings.operationsListenIsExplicit),
        ]
    }

    private func check(_ key: String, _ address: ProxyConfiguration.Address, isNeeded: Bool) -> CheckResult {
        switch PortProbe.bind(address) {
        case .free: return CheckResult(key, .pass, "\(address) is free")
        case .inUse:
            return CheckResult(
                key, .warn, "\(address) is already in use",
                advice: isNeeded
                    ? "expected if receipt-bridge is running; otherwise stop the other program, or choose another port"
                    : "expected if receipt-bridge is running; otherwise the operations listener will be disabled")
        case .unusable(let reason):
            return CheckResult(
                key, .fail, "\(address): \(reason)",
                advice: "use an address of this machine and a port that this user may use")
        }
    }
}
