import Pipeline
import Server

/// Whether the listeners' addresses are free.
struct ListenerCheckups {
    let settings: Settings

    func all() -> [Checkup] {
        [
            checkup("listen", settings.listen, isNeeded: true),
            checkup(
                "operations.listen", settings.operationsListen, isNeeded: settings.operationsListenIsExplicit),
        ]
    }

    private func checkup(_ key: String, _ address: Settings.Address, isNeeded: Bool) -> Checkup {
        switch AddressProbe.bind(address) {
        case .free: return Checkup(key, .pass, "\(address) is free")
        case .taken:
            return Checkup(
                key, .warn, "\(address) is taken",
                advice: isNeeded
                    ? "by receipt-bridge itself all is well; else stop the other program, or choose another port"
                    : "by receipt-bridge itself all is well; else nothing listens for operations")
        case .unusable(let reason):
            return Checkup(
                key, .fail, "\(address): \(reason)", advice: "an address of this machine, and a port it may use")
        }
    }
}
